"""How good is the built-in backend's code? Builds matmuls, runs them on the emulated array, prints a table.

    python scripts/bench_matmul.py [MxNxK ...] [--type i8 ...] [--cores 16] [--tile m,n,k]

Per size and type: build time, cores in use, size of a core's program, bundles of the busiest core, cycles
of the array (waiting for data included; bank conflicts, DDR latency and the firmware's own time are not),
the cost model's estimate relative to that, the share of the peak of the cores in use that bundles and
cycles leave, the emulator's wall time, and whether the result is numpy's.

Peak products per bundle and core: i8 256, i16 x i8 128, i16 64, bf16 128 (the multiplier's modes,
facts/aie2-isa.md 3.1); i32 64 / 3, three products of halves in the mode of i16.
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

SIZES = ("64x64x64", "256x256x256", "512x512x512")
PEAK = {"i8": 256, "i16": 64, "bf16": 128, "i32": 64 / 3}
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
    parser.add_argument("--type", nargs="*", default=["i8", "i16", "bf16"], choices=tuple(PEAK), dest="types")
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--tile", default=None, metavar="m,n,k")
    arguments = parser.parse_args()
    tile = None
    if arguments.tile:
        rows, columns, inner = (int(part) for part in arguments.tile.split(","))
        tile = (rows, columns, inner)
    options = CompileOptions(cores=arguments.cores, tile=tile)
    print(
        f"{'type':>5} {'size':>15} {'build s':>8} {'cores':>5} {'code':>6} {'bundles':>11} {'cycles':>11} "
        f"{'estimate':>8} {'code %':>6} {'peak %':>6} {'run s':>6}"
    )
    with Compiler() as compiler:
        for operand in arguments.types:
            for text in arguments.sizes:
                m, n, k = (int(part) for part in text.split("x"))
                print(measure(compiler, (m, n, k), operand, options), flush=True)


def measure(compiler: Compiler, size: tuple[int, int, int], operand: str, options: CompileOptions) -> str:
    """One row of the table."""
    m, n, k = size
    real = dtypes.is_float(operand)
    text = matmul(m, n, k, operand=operand, accumulator="f32" if real else "i32", fill=7)
    program = compiler.compile("bench.mlir", text)
    start = time.perf_counter()
    artifact = compile_dispatch(program.dispatches[0], options)
    build_s = time.perf_counter() - start
    left, right, want = problem(size, operand)
    sizes = [-(-length // 4096) * 4096 for length in (left.nbytes, right.nbytes, 4 * m * n)]
    memory = Memory(sum(sizes))
    addresses = [BASE, BASE + sizes[0], BASE + sizes[0] + sizes[1]]
    for address, array in zip(addresses, (left, right), strict=False):
        memory.write(address, np.frombuffer(array.tobytes(), np.uint8))
    container = xclbin.parse(artifact.xclbin)
    machine = Machine(container.partition().column_width, memory)
    machine.load(pdi.parse(container.pdi_for(artifact.kernel)).cdo)
    start = time.perf_counter()
    report = machine.run(parse_instructions(artifact.instructions), addresses)
    run_s = time.perf_counter() - start
    result = memory.read(addresses[2], 4 * m * n).view(want.dtype).reshape(m, n)
    verdict = "right" if np.array_equal(result, want) else "WRONG"
    cores, bundles = len(report.bundles), max(report.bundles.values())
    estimate = re.search(r"estimate: (\d+)", "\n".join(artifact.notes))
    ratio = int(estimate[1]) / report.cycles if estimate is not None else float("nan")
    code = re.search(r"program: (\d+)", "\n".join(artifact.notes))
    ideal = m * n * k / cores / PEAK[operand]
    return (
        f"{operand:>5} {f'{m}x{n}x{k}':>15} {build_s:8.2f} {cores:5} {code[1] if code else '':>6} "
        f"{bundles:11,} {report.cycles:11,} {ratio:8.2f} {100 * ideal / bundles:6.1f} "
        f"{100 * ideal / report.cycles:6.1f} {run_s:6.1f} {verdict}"
    )


def problem(
    size: tuple[int, int, int], operand: str
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.generic]], ...]:
    """Operands and 7 + their product; floats are small integers, whose sums are exact."""
    m, n, k = size
    generator = np.random.default_rng(0)
    dtype = dtypes.numpy_dtype(operand)
    if dtypes.is_float(operand):
        left, right = (generator.integers(-15, 16, shape) for shape in ((m, k), (k, n)))
        return left.astype(dtype), right.astype(dtype), (left @ right + 7).astype(np.float32)
    limits = np.iinfo(dtype)
    left, right = (
        generator.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        for shape in ((m, k), (k, n))
    )
    wide = left.astype(np.int64).view(np.uint64) @ right.astype(np.int64).view(np.uint64) + np.uint64(7)
    return left, right, wide.astype(np.uint32).view(np.int32)


if __name__ == "__main__":
    main()
