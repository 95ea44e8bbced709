"""How fast the emulator is, as ratios of one run: engines, numpy, cores side by side, start-up.

    python scripts/bench_emulator.py [--corpus FOLDER] [--plain-bundles N]

gemm256-i16-1core (256x256x256 i16 by AMD's own compiler) is run whole by the compiled engine and for its
first bundles by the plain one. Start-up is measured in processes of their own, with an empty cache of
compiled cores and then with the one that the first left.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from aiepipe.emulator.core.core import Core
from aiepipe.emulator.core.port import CoreStop
from aiepipe.emulator.machine import EngineName, Machine
from aiepipe.errors import EmulationError
from aiepipe.formats import pdi, xclbin
from aiepipe.formats.instructions import parse_instructions
from tests.emulator.designs import Ddr, Design, compute
from tests.emulator.programs import program

ROOT = Path(__file__).resolve().parent.parent
CASE = "gemm256-i16-1core"
SIZE = 256
LOOP = 1_000_000
"""Rounds of the loop that cores run side by side."""


class TimedCore(Core):
    """A core that knows how long it ran. All cores of the process count together."""

    seconds = 0.0

    def run(self, budget: int) -> CoreStop:
        start = time.perf_counter()
        try:
            return super().run(budget)
        finally:
            TimedCore.seconds += time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Loaded:
    """The case, ready to run; `load_seconds` is from the file's bytes to the configured array."""

    machine: Machine
    stream: Any
    addresses: list[int]
    result: Any
    load_seconds: float


def load(corpus: Path, engine: EngineName, *, check: bool = False) -> Loaded:
    generator = np.random.default_rng(1)
    a, b = generator.integers(-1000, 1000, (2, SIZE, SIZE)).astype(np.int16)
    ddr = Ddr()
    start = time.perf_counter()
    binary, instructions = paths(corpus)
    file = xclbin.parse(binary.read_bytes())
    cores = functools.partial(TimedCore, engine=engine)
    machine = Machine(file.partition().column_width, ddr, cores=cores, check=check)
    machine.load(pdi.parse(file.pdi_for(file.kernels()[0])).cdo)
    stream = parse_instructions(instructions.read_bytes())
    loaded = time.perf_counter() - start
    got = ddr.add(np.zeros((SIZE, SIZE), np.int32))
    return Loaded(machine, stream, [ddr.add(a), ddr.add(b), got], (ddr, got, a, b), loaded)


def paths(corpus: Path) -> tuple[Path, Path]:
    """The xclbin and the stream of the case."""
    cases = json.loads((corpus / "cases.json").read_text())["cases"]
    case = next(found for found in cases if found["name"] == CASE)
    return corpus / case["xclbin"], corpus / case["insts"]


def run_whole(loaded: Loaded) -> tuple[float, float, int]:
    """Seconds of a run, seconds in cores, bundles."""
    TimedCore.seconds = 0.0
    start = time.perf_counter()
    report = loaded.machine.run(loaded.stream, loaded.addresses)
    return time.perf_counter() - start, TimedCore.seconds, sum(report.bundles.values())


def run_first(loaded: Loaded, bundles: int) -> float:
    """Bundles per second of the first ones, time of cores only."""
    TimedCore.seconds = 0.0
    try:
        loaded.machine.run(loaded.stream, loaded.addresses, step_limit=bundles)
    except EmulationError as error:
        if error.kind != "step-limit":
            raise
    return sum(core.bundles for core in loaded.machine.array.cores) / TimedCore.seconds


def numpy_seconds(loaded: Loaded) -> float:
    """The same product, best of five; numpy has no BLAS for integers."""
    _, _, a, b = loaded.result
    a = a.astype(np.int32)
    best = 1e9
    for _ in range(5):
        start = time.perf_counter()
        np.matmul(a, b)
        best = min(best, time.perf_counter() - start)
    return best


def side_by_side(cores: int) -> float:
    """Bundles per second of so many cores together, warm; each runs a loop of 8 bundles."""
    design = Design()
    since = len(design.commands)
    tiles = [compute(number // 4, 2 + number % 4) for number in range(cores)]
    for tile in tiles:
        program(
            design, tile, f"movxm r2, #{LOOP}", "again:", "add r1, r1, r2", "xor r3, r1, r2",
            "add r2, r2, #-1", "jnz r2, again",
        )  # fmt: skip
    enables = [command for command in design.commands[since:] if type(command).__name__ == "Write"]
    design.commands = [command for command in design.commands if command not in enables]
    design.commands += enables
    design.in_stream(len(design.commands) - len(enables))
    design.ops += [design.poll(tile.address(0x32004), 1 << 20, 1 << 20) for tile in tiles]
    machine = Machine(max(1, -(-cores // 4)), Ddr())
    machine.load(design.cdo)
    machine.run(design.stream, [])
    for tile in tiles:
        core = machine.array.tiles[tile].core
        assert core is not None
        core.control(enable=False, reset=True)
    start = time.perf_counter()
    report = machine.run(design.stream, [])
    return sum(report.bundles.values()) / (time.perf_counter() - start)


def start_up(corpus: Path, cache: Path) -> dict[str, float]:
    """In a process of its own: imports, loading (cores run to their first wait), two runs."""
    code = f"""
import time
start = time.perf_counter()
import json, pathlib, sys
sys.path.insert(0, {str(ROOT)!r})
from scripts import bench_emulator
imported = time.perf_counter() - start
loaded = bench_emulator.load(pathlib.Path({str(corpus)!r}), "jit")
first, second = (bench_emulator.run_whole(loaded)[0] for _ in range(2))
times = dict(imported=imported, load=loaded.load_seconds, first=first, second=second)
print(json.dumps(times))
"""
    environment = {**os.environ, "AIEPIPE_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("AIEPIPE_CORPUS", str(ROOT.parent / "shared" / "corpus"))
    parser.add_argument("--corpus", type=Path, default=Path(default))
    parser.add_argument("--plain-bundles", type=int, default=20_000, help="bundles of the plain engine")
    options = parser.parse_args()
    corpus: Path = options.corpus

    loaded = load(corpus, "jit")
    run_whole(loaded)
    seconds, in_cores, bundles = min(run_whole(loaded) for _ in range(3))
    ddr, got, a, b = loaded.result
    assert np.array_equal(ddr.get(got, np.int32).reshape(SIZE, SIZE), a.astype(np.int32) @ b)
    compiled = bundles / in_cores
    plain = run_first(load(corpus, "plain"), options.plain_bundles)
    checked = load(corpus, "jit", check=True)
    run_whole(checked)
    checked_seconds = run_whole(checked)[0]
    numpy_time = numpy_seconds(loaded)
    print(f"{CASE}: {bundles:,} bundles, one core")
    print(f"  compiled, warm     {compiled / 1e6:8.1f} M bundles/s in the core")
    print(f"  plain              {plain / 1e6:8.3f} M bundles/s (first {options.plain_bundles:,})")
    print(f"  compiled to plain  {compiled / plain:8.0f} times")
    print(f"  end to end         {seconds * 1e3:8.1f} ms, {in_cores / seconds:.0%} of it in the core")
    print(
        f"  numpy's own time   {numpy_time * 1e3:8.1f} ms; {seconds / numpy_time:.1f} times that end to end"
    )
    print(f"  with --check       {checked_seconds * 1e3:8.1f} ms, {checked_seconds / seconds:.1f} times")

    print("cores side by side (one thread), M bundles/s together")
    first = 0.0
    for cores in (1, 2, 4, 8, 16):
        rate = side_by_side(cores)
        first = first or rate
        print(f"  {cores:2} cores           {rate / 1e6:8.1f}  {rate / first:5.2f} times one core's")

    print("start-up, seconds")
    with tempfile.TemporaryDirectory() as folder:
        cold, cached = (start_up(corpus, Path(folder)) for _ in range(2))
    for name, found in (("cold", cold), ("cached", cached)):
        print(
            f"  {name:7} import {found['imported']:.2f}, load {found['load']:.2f},"
            f" first run {found['first']:.2f}, second run {found['second']:.2f}"
        )
    translation = cold["load"] + cold["first"] - cached["load"] - cached["first"]
    print(f"  translation {translation:.2f}, saved by the cache")


if __name__ == "__main__":
    main()
