"""How good is the built-in backend's code? Builds matmuls, runs them on the emulated array, prints one table.

    python scripts/bench_codegen.py [MxNxK ...] [--type i8 ...] [--cores 16] [--tile m,n,k]
                                    [--large 4096x4096x512 ...] [--corpus FOLDER]

Per type and size: cycles of the array (waiting for data included; bank conflicts, DDR latency and the
firmware's own time are not), products per cycle and core, the share of the multiplier's peak, the share of
cycles in which the busiest core waited for data or room, the share of bundles of the steady loop that
multiply, the cost model's estimate relative to what was measured, program size, the processor's seconds to
build, and whether the result is numpy's.

Peak products per cycle and core: i8 256, i16 64, bf16 128 (the multiplier's modes, llvm-aie's aiev2_vmult.h);
i32 64 / 3, as one product of 32 bits is three of halves in the mode of i16.

Types with an arrow have something fused: bf16>bf16 rounds the sums to bf16, i8>i8 shifts them by 9 bits and
holds them between 0 and 127.

The `--large` ones are not run whole. Their own tiles and steps are run for two and for four passes of the
array over the result; a pass is half of the difference, and the cycles are those of two passes and of all
others.

The last rows are binaries that other compilers made, of the folder that --corpus or AIEPIPE_CORPUS names, on
the same emulator, and ours for the same problem on as many cores: our cycles divided by theirs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from aiepipe import dtypes
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.emulator.machine import Machine, RunReport
from aiepipe.formats import pdi, xclbin
from aiepipe.formats.instructions import parse_instructions
from aiepipe.frontend.compiler import Compiler
from aiepipe.kernels import matmul
from aiepipe.program import Artifact

Array = np.ndarray[tuple[int, ...], np.dtype[Any]]
Size = tuple[int, int, int]

SIZES = ("512x512x512",)
LARGE = ("4096x4096x512",)
TYPES = ("i8", "i8>i8", "i16", "bf16", "bf16>bf16", "i32")
PEAK = {"i8": 256.0, "i16": 64.0, "bf16": 128.0, "i32": 64 / 3}
SHIFT, MOST = 9, 127
FUSED = {
    "i8>i8": f"""
    %by = arith.constant {SHIFT} : i32
    %least = arith.constant 0 : i32
    %most = arith.constant {MOST} : i32
    %shifted = arith.shrsi %sum, %by : i32
    %above = arith.maxsi %shifted, %least : i32
    %below = arith.minsi %above, %most : i32
    %narrow = arith.trunci %below : i32 to i8
    linalg.yield %narrow : i8""",
    "bf16>bf16": """
    %narrow = arith.truncf %sum : f32 to bf16
    linalg.yield %narrow : bf16""",
}
BASE = 0x100000
PAGE = 4096
PASSES = (2, 4)
CORPUS = {"iree-seed-matmul-i32": "i32", "gemm256-i16-1core": "i16"}


class Memory:
    """DDR of one array of bytes from `BASE`."""

    def __init__(self, size_bytes: int) -> None:
        self.data = np.zeros(size_bytes, np.uint8)

    def read(self, address: int, length: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        return self.data[address - BASE : address - BASE + length]

    def write(self, address: int, data: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> None:
        self.data[address - BASE : address - BASE + len(data)] = data


@dataclass(frozen=True, slots=True)
class Measured:
    """One matmul, built and run."""

    operand: str
    size: Size
    cores: int
    cycles: int
    bundles: int
    artifact: Artifact
    build_s: float
    right: bool

    @property
    def note(self) -> str:
        return "\n".join(self.artifact.notes)

    def number(self, pattern: str) -> int | None:
        found = re.search(pattern, self.note)
        return None if found is None else int(found[1])

    def row(self, *, modelled: bool = False) -> str:
        m, n, k = self.size
        products = m * n * k / self.cycles / self.cores
        estimate = self.number(r"estimate: (\d+)")
        ratio = "" if estimate is None else f"{estimate / self.cycles:.2f}"
        steady = steady_share(self.artifact, self.operand)
        code = self.number(r"program: (\d+)") or 0
        verdict = "modelled" if modelled else "right" if self.right else "WRONG"
        share = 100 * products / PEAK[_operand(self.operand)]
        return (
            f"{self.operand:>9} {f'{m}x{n}x{k}':>14} {self.cores:5} {self.cycles:11,} {products:9.2f} "
            f"{share:6.1f} {100 * (1 - self.bundles / self.cycles):6.1f} "
            f"{'' if steady is None else f'{100 * steady:.0f}':>6} {ratio:>8} "
            f"{code:7,} {self.build_s:7.2f} {verdict}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", nargs="*", default=SIZES, metavar="MxNxK")
    parser.add_argument("--type", nargs="*", default=TYPES, choices=(*PEAK, *FUSED), dest="types")
    parser.add_argument("--large", nargs="*", default=LARGE, metavar="MxNxK")
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--tile", default=None, metavar="m,n,k")
    parser.add_argument("--corpus", default=os.environ.get("AIEPIPE_CORPUS"))
    arguments = parser.parse_args()
    tile = None if arguments.tile is None else _numbers(arguments.tile, ",")
    options = CompileOptions(cores=arguments.cores, tile=tile)
    print(
        f"{'type':>9} {'size':>14} {'cores':>5} {'cycles':>11} {'MAC/cycle':>9} {'peak %':>6} {'wait %':>6} "
        f"{'loop %':>6} {'estimate':>8} {'code':>7} {'build s':>7}"
    )
    with Compiler() as compiler:
        for operand in arguments.types:
            for text in arguments.sizes:
                print(measure(compiler, _numbers(text, "x"), operand, options).row(), flush=True)
            for text in arguments.large:
                row = modelled(compiler, _numbers(text, "x"), operand, options).row(modelled=True)
                print(row, flush=True)
        if arguments.corpus:
            for name, operand in CORPUS.items():
                print(compared(compiler, Path(arguments.corpus), name, operand), flush=True)


def _numbers(text: str, separator: str) -> Size:
    first, second, third = (int(part) for part in text.split(separator))
    return first, second, third


def build(compiler: Compiler, size: Size, operand: str, options: CompileOptions) -> tuple[Artifact, float]:
    """The artifact, and the seconds that the backend took."""
    total = "f32" if dtypes.is_float(_operand(operand)) else "i32"
    text = matmul(*size, operand=_operand(operand), accumulator=total, fill=7)
    if operand in FUSED:
        text = _fused(text, size, operand, total)
    program = compiler.compile("bench.mlir", text)
    start = time.process_time()
    artifact = compile_dispatch(program.dispatches[0], options)
    return artifact, time.process_time() - start


def _operand(name: str) -> str:
    return name.partition(">")[0]


def _fused(text: str, size: Size, name: str, total: str) -> str:
    """The builder's function with what is fused before its return."""
    sums, result = (f"tensor<{size[0]}x{size[1]}x{element}>" for element in (total, name.partition(">")[2]))
    head, _, value = text.rpartition("return ")
    value = value.split()[0]
    same = "affine_map<(m, n) -> (m, n)>"
    return (
        head.replace(f"-> {sums} {{", f"-> {result} {{")
        + f"""%out = tensor.empty() : {result}
  %fused = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = ["parallel", "parallel"]}}
      ins({value} : {sums}) outs(%out : {result}) {{
  ^bb0(%sum: {total}, %unused: {name.partition(">")[2]}):{FUSED[name]}
  }} -> {result}
  return %fused : {result}
}}
"""
    )


def run(container_bytes: bytes, kernel: str, stream: bytes, buffers: list[Array]) -> tuple[RunReport, Array]:
    """Runs once; the report, and the last buffer as it is then."""
    sizes = [-(-array.nbytes // PAGE) * PAGE for array in buffers]
    memory = Memory(sum(sizes))
    addresses = [BASE + sum(sizes[:index]) for index in range(len(sizes))]
    for address, array in zip(addresses, buffers, strict=True):
        memory.write(address, np.frombuffer(array.tobytes(), np.uint8))
    container = xclbin.parse(container_bytes)
    machine = Machine(container.partition().column_width, memory)
    machine.load(pdi.parse(container.pdi_for(kernel)).cdo)
    report = machine.run(parse_instructions(stream), addresses)
    last = buffers[-1]
    return report, memory.read(addresses[-1], last.nbytes).view(last.dtype).reshape(last.shape)


def measure(compiler: Compiler, size: Size, operand: str, options: CompileOptions) -> Measured:
    """Built and run, and compared with numpy."""
    artifact, build_s = build(compiler, size, operand, options)
    left, right, want = problem(size, operand)
    report, got = run(
        artifact.xclbin, artifact.kernel, artifact.instructions, [left, right, np.zeros_like(want)]
    )
    return Measured(
        operand,
        size,
        len(report.bundles),
        report.cycles,
        max(report.bundles.values()),
        artifact,
        build_s,
        bool(np.array_equal(got, want)),
    )


def modelled(compiler: Compiler, size: Size, operand: str, options: CompileOptions) -> Measured:
    """A large one by its passes over the array, see above."""
    artifact, build_s = build(compiler, size, operand, options)
    note = "\n".join(artifact.notes)
    grid = re.search(r"on (\d+) x (\d+) cores", note)
    tile = re.search(r"tile (\d+) x (\d+) x (\d+), (\d+) per core", note)
    if grid is None or tile is None:
        raise SystemExit(f"{operand} {size} does not go to the multiplier array")
    rows, columns = int(grid[1]), int(grid[2])
    m, n, k, passes = (int(part) for part in tile.groups())
    fixed = replace(options, grid=(rows, columns), tile=(m, n, k))
    few, more = (
        measure(compiler, (rows * m, columns * n * count, size[2]), operand, fixed) for count in PASSES
    )
    if not (few.right and more.right):
        raise SystemExit(f"{operand} {size}: a part of it is wrong")
    share = (passes - PASSES[0]) / (PASSES[1] - PASSES[0])
    return replace(
        few,
        size=size,
        cycles=round(few.cycles + share * (more.cycles - few.cycles)),
        bundles=round(few.bundles + share * (more.bundles - few.bundles)),
        artifact=artifact,
        build_s=build_s,
    )


def steady_share(artifact: Artifact, operand: str) -> float | None:
    """Share of the peak in the loop that adds to sums, from the listing: products in its bundles."""
    listing = artifact.files[f"{artifact.entry}.s"].decode()
    lines = [line for line in listing.splitlines() if " loop: " in line]
    if operand == "i32":  # its loop has a label instead
        found = re.search(r"(?m)^(begin|add)_steps:\n(?P<body>(?:0x.*\n)+)", listing)
        lines = [] if found is None else found["body"].splitlines()
    return sum("vmac" in line for line in lines) / len(lines) if lines else None


def compared(compiler: Compiler, corpus: Path, name: str, operand: str) -> str:
    """A binary of the corpus against ours, on as many cores as it uses."""
    cases = cast("dict[str, Any]", json.loads((corpus / "cases.json").read_text()))["cases"]
    case = next(found for found in cases if found["name"] == name)
    shapes = [tuple(argument["shape"]) for argument in case["args"]]
    size = (shapes[0][0], shapes[1][1], shapes[0][1])
    left, right, want = problem(size, operand)
    container = (corpus / case["xclbin"]).read_bytes()
    kernel = xclbin.parse(container).kernels()[0].name
    buffers = [left, right, np.zeros_like(want)]
    theirs, got = run(container, kernel, (corpus / case["insts"]).read_bytes(), buffers)
    assert np.array_equal(got, want - 7), "their result is without our fill"
    ours = measure(compiler, size, operand, CompileOptions(cores=len(theirs.bundles)))
    verdict = "right" if ours.right else "WRONG"
    return (
        f"{operand:>9} {'x'.join(map(str, size)):>14} {name}: theirs {theirs.cycles:,} cycles on "
        f"{len(theirs.bundles)} cores, ours {ours.cycles:,} on {ours.cores}: "
        f"{ours.cycles / theirs.cycles:.3f} of theirs, {verdict}"
    )


def problem(size: Size, name: str) -> tuple[Array, Array, Array]:
    """Operands and 7 + their product; floats are small integers, whose sums are exact."""
    left, right, sums = product(size, _operand(name))
    if name == "bf16>bf16":
        return left, right, sums.astype(left.dtype)
    if name == "i8>i8":
        return left, right, np.clip(sums >> SHIFT, 0, MOST).astype(np.int8)
    return left, right, sums


def product(size: Size, operand: str) -> tuple[Array, Array, Array]:
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
