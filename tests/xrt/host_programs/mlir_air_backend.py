"""A host program in the style of mlir-air's XRTBackend: load() gives a function over numpy arrays that
writes all of them, syncs all of them to the device and, after the run, all of them back.

    python mlir_air_backend.py final.xclbin insts.bin [MLIR_AIE]

Multiplies two 256x256 matrices of int16 into int32.
"""

import sys

import numpy as np
import pyxrt as xrt


class XRTBackend:
    def __init__(self, xclbin, insts, kernel):
        self.files = xclbin, insts
        self.kernel_name = kernel
        self.bo_instr = None

    def load(self):
        xclbin_path, insts_path = self.files
        self.device = xrt.device(0)
        self.xclbin = xrt.xclbin(xclbin_path)
        self.device.register_xclbin(self.xclbin)
        self.context = xrt.hw_context(self.device, self.xclbin.get_uuid())
        kernels = self.xclbin.get_kernels()
        xkernel = [k for k in kernels if self.kernel_name in k.get_name()][0]  # noqa: RUF015
        self.kernel = xrt.kernel(self.context, xkernel.get_name())
        with open(insts_path, "rb") as file:
            self.instr_v = np.frombuffer(file.read(), dtype=np.uint32)
        self.bo_instr = xrt.bo(self.device, len(self.instr_v) * 4, xrt.bo.cacheable, self.kernel.group_id(1))
        self.bo_instr.write(self.instr_v, 0)
        self.bo_instr.sync(xrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE)

        def invoker(*args):
            sizes = [a.size * a.itemsize for a in args]
            bos = [
                xrt.bo(self.device, size, xrt.bo.host_only, self.kernel.group_id(i + 3))
                for i, size in enumerate(sizes)
            ]
            for array, bo in zip(args, bos):  # noqa: B905
                bo.write(array, 0)
                bo.sync(xrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE)
            run = self.kernel(3, self.bo_instr, len(self.instr_v), *bos)
            run.wait2()
            for bo in bos:
                bo.sync(xrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE)
            results = [bo.read(size, 0).view(a.dtype) for bo, size, a in zip(bos, sizes, args)]  # noqa: B905
            return tuple(r.reshape(a.shape) for r, a in zip(results, args))  # noqa: B905

        return invoker

    def unload(self):
        self.kernel = self.context = self.xclbin = self.device = self.bo_instr = None


def main():
    backend = XRTBackend(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "MLIR_AIE")
    matmul = backend.load()
    rng = np.random.default_rng(11)
    failed = False
    for _ in range(2):
        a = rng.integers(-1000, 1000, (256, 256), dtype=np.int16)
        b = rng.integers(-1000, 1000, (256, 256), dtype=np.int16)
        c = np.zeros((256, 256), dtype=np.int32)
        *_, out = matmul(a, b, c)
        failed = failed or not np.array_equal(out, a.astype(np.int32) @ b.astype(np.int32))
    backend.unload()
    print("failed" if failed else "PASS!")
    sys.exit(-1 if failed else 0)


if __name__ == "__main__":
    main()
