"""How good is the built-in backend's code? Builds matmuls, runs them on the emulated array, prints a table.

    python scripts/bench_matmul.py [MxNxK ...] [--type i32]

Per size: build time, bundles that the core executed and per product, the estimate of the cost model that
chose the tile, cycles with waiting for data included, the emulator's wall time, and whether the result is
numpy's. Default sizes are the issue's and the 256-cube.
"""

from __future__ import annotations

import argparse
import re
import time

import numpy as np

from aiepipe import dtypes
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.emulator.machine import Machine
from aiepipe.formats import pdi, xclbin
from aiepipe.formats.instructions import parse_instructions
from aiepipe.frontend.compiler import Compiler
from aiepipe.kernels import matmul

SIZES = ("64x64x16", "8x32x16", "63x65x17", "128x128x128", "256x256x256")
BASE = 0x100000


class Memory:
    """DDR of one array of bytes from `BASE`."""

    def __init__(self, size_bytes: int) -> None:
        self.data = np.zeros(size_bytes, np.uint8)

    def read(self, address: int, length: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        return self.data[address - BASE : address - BASE + length]

    def write(self, address: int, data: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> None:
        self.data[address - BASE : address - BASE + len(data)] = data


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", nargs="*", default=SIZES, metavar="MxNxK")
    parser.add_argument("--type", default="i32", choices=("i8", "i16", "i32"), dest="operand")
    arguments = parser.parse_args()
    print(
        f"{'size':>14} {'build s':>8} {'bundles':>12} {'/product':>9} {'estimate':>9} "
        f"{'cycles':>12} {'run s':>7}"
    )
    with Compiler() as compiler:
        for text in arguments.sizes:
            m, n, k = (int(part) for part in text.split("x"))
            print(measure(compiler, m, n, k, arguments.operand), flush=True)


def measure(compiler: Compiler, m: int, n: int, k: int, operand: str) -> str:
    """One row of the table."""
    program = compiler.compile("bench.mlir", matmul(m, n, k, operand=operand, fill=7))
    start = time.perf_counter()
    artifact = compile_dispatch(program.dispatches[0], CompileOptions())
    build_s = time.perf_counter() - start
    generator = np.random.default_rng(0)
    dtype = dtypes.numpy_dtype(operand)
    limits = np.iinfo(dtype)
    left, right = (
        generator.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        for shape in ((m, k), (k, n))
    )
    sizes = [-(-size // 4096) * 4096 for size in (left.nbytes, right.nbytes, 4 * m * n)]
    memory = Memory(sum(sizes))
    addresses = [BASE, BASE + sizes[0], BASE + sizes[0] + sizes[1]]
    for address, array in zip(addresses, (left, right), strict=False):
        memory.write(address, np.frombuffer(array.tobytes(), np.uint8))
    machine = Machine(1, memory)
    machine.load(pdi.parse(xclbin.parse(artifact.xclbin).pdi_for(artifact.kernel)).cdo)
    start = time.perf_counter()
    report = machine.run(parse_instructions(artifact.instructions), addresses)
    run_s = time.perf_counter() - start
    result = memory.read(addresses[2], 4 * m * n).view(np.int32).reshape(m, n)
    wide = left.astype(np.int64).view(np.uint64) @ right.astype(np.int64).view(np.uint64) + np.uint64(7)
    verdict = "right" if np.array_equal(result, wide.astype(np.uint32).view(np.int32)) else "WRONG"
    bundles = sum(report.bundles.values())
    estimate = re.search(r"estimate: (\d+)", "\n".join(artifact.notes))
    ratio = int(estimate[1]) / bundles if estimate is not None else float("nan")
    return (
        f"{f'{m}x{n}x{k}':>14} {build_s:8.3f} {bundles:12,} {bundles / (m * n * k):9.2f} {ratio:9.2f} "
        f"{report.cycles:12,} {run_s:7.2f} {verdict}"
    )


if __name__ == "__main__":
    main()
