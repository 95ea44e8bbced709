"""A host program in the style of mlir-aie's own tests: tensors that sync themselves, a checked run.

    python mlir_aie_add.py -x final.xclbin -i insts.bin -k MLIR_AIE

Adds two vectors of bfloat16.
"""

import argparse
import sys

import numpy as np
import pyxrt
from ml_dtypes import bfloat16

TO = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
FROM = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE


class Tensor:
    """A numpy array in a buffer object; zeros at first."""

    def __init__(self, device, shape, dtype, group):
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.bo = pyxrt.bo(device, int(np.prod(shape)) * self.dtype.itemsize, pyxrt.bo.host_only, group)
        self.view = np.frombuffer(self.bo.map(), dtype=self.dtype).reshape(shape)
        self.view[:] = 0

    def to_npu(self):
        self.bo.sync(TO)

    def numpy(self):
        self.bo.sync(FROM)
        return self.view


def read_instructions(path):
    if path.endswith(".bin"):
        return np.fromfile(path, dtype=np.uint32)
    with open(path, encoding="ascii") as file:
        return np.array([int(line, 16) for line in file.read().split("\n") if line.strip()], np.uint32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-x", "--xclbin", required=True)
    parser.add_argument("-i", "--instr", required=True)
    parser.add_argument("-k", "--kernel", default="MLIR_AIE")
    parser.add_argument("-n", "--iterations", type=int, default=2)
    options = parser.parse_args()

    device = pyxrt.device(0)
    xclbin = pyxrt.xclbin(options.xclbin)
    name = next(k.get_name() for k in xclbin.get_kernels() if k.get_name().startswith(options.kernel))
    device.register_xclbin(xclbin)
    context = pyxrt.hw_context(device, xclbin.get_uuid())
    kernel = pyxrt.kernel(context, name)

    instructions = read_instructions(options.instr)
    bo_instr = pyxrt.bo(device, instructions.nbytes, pyxrt.bo.cacheable, kernel.group_id(1))
    bo_instr.write(instructions, 0)
    bo_instr.sync(TO)

    a = Tensor(device, (4096,), bfloat16, kernel.group_id(3))
    b = Tensor(device, (4096,), bfloat16, kernel.group_id(4))
    c = Tensor(device, (4096,), bfloat16, kernel.group_id(5))
    errors = 0
    for iteration in range(options.iterations):
        a.view[:] = (np.arange(4096) % 61 + iteration).astype(bfloat16)
        b.view[:] = (np.arange(4096) % 7).astype(bfloat16)
        c.view[:] = -1
        a.to_npu()
        b.to_npu()
        c.to_npu()
        run = kernel(3, bo_instr, instructions.nbytes, a.bo, b.bo, c.bo)
        state = run.wait()
        if state != pyxrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED:
            print(f"kernel did not complete: {state}")
            return 1
        want = (a.view.astype(np.float32) + b.view.astype(np.float32)).astype(bfloat16)
        errors += int(np.count_nonzero(c.numpy() != want))
    print("PASS!" if not errors else f"fail: {errors} errors")
    return 0 if not errors else 1


if __name__ == "__main__":
    sys.exit(main())
