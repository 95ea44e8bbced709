"""A host program in the style of Triton-XDNA's launcher: every pointer argument is written and synced to
the device, only the last one is synced back and copied out.

    python triton_xdna_launcher.py final.xclbin insts.txt

Sums 1024 numbers of int32.
"""

import sys

import numpy as np
import pyxrt

TO_DEVICE = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
FROM_DEVICE = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE


class NPULauncher:
    def __init__(self, xclbin_path, insts_path):
        with open(insts_path, encoding="ascii") as file:
            self.insts = np.array([int(word, 16) for word in file.read().split()], dtype=np.uint32)
        self.device = pyxrt.device(0)
        xclbin = pyxrt.xclbin(xclbin_path)
        uuid = self.device.register_xclbin(xclbin)
        self.context = pyxrt.hw_context(self.device, uuid)
        self.kernel = pyxrt.kernel(self.context, xclbin.get_kernels()[0].get_name())
        self.bo_insts = pyxrt.bo(self.device, self.insts.nbytes, pyxrt.bo.cacheable, self.kernel.group_id(1))
        np.frombuffer(self.bo_insts.map(), dtype=np.uint32)[:] = self.insts
        self.bo_insts.sync(TO_DEVICE)
        self.buffers = {}

    def __call__(self, *arrays):
        run = pyxrt.run(self.kernel)
        run.set_arg(0, 3)
        run.set_arg(1, self.bo_insts)
        run.set_arg(2, len(self.insts))
        maps = []
        for index, array in enumerate(arrays):
            if index not in self.buffers:
                self.buffers[index] = pyxrt.bo(
                    self.device, array.nbytes, pyxrt.bo.host_only, self.kernel.group_id(3 + index)
                )
            buffer = self.buffers[index]
            view = np.frombuffer(buffer.map(), dtype=array.dtype)
            view[:] = array.reshape(-1)
            buffer.sync(TO_DEVICE)
            maps.append(view)
            run.set_arg(3 + index, buffer)
        run.start()
        state = run.wait()
        if state != pyxrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED:
            raise RuntimeError(f"kernel failed: {state}")
        last = len(arrays) - 1
        self.buffers[last].sync(FROM_DEVICE)
        arrays[last].reshape(-1)[:] = maps[last]


def main():
    launch = NPULauncher(sys.argv[1], sys.argv[2])
    for iteration in range(3):
        values = np.arange(1024, dtype=np.int32) * (iteration + 1)
        total = np.full(1, -1, dtype=np.int32)
        launch(values, total)
        assert total[0] == values.sum(), f"got {total[0]}, expected {values.sum()}"
    print("PASS!")


if __name__ == "__main__":
    main()
