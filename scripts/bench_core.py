"""How fast the core engines run: bundles per second, plain and compiled, and what a first run costs.

    python scripts/bench_core.py [--bundles N]

Three loops: scalar (a sum over memory with post-increment, as a compiler without vectors writes it),
a zero-overhead loop of two bundles, and 4x4x4 MACs on 16 bits with vector loads. Prints one table; the
ratio of compiled to plain comes from one run. The cache on disk is not used.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from aiepipe.emulator.core.regions import default_store
from tests.emulator.core.bench import OWN, Bench, Engine, assemble

SCALAR = (
    "loop:",
    "lda r1, [p0], m0", "add r2, r2, r1", "and r3, r2, r4", "j {loop}",
    "lshl r5, r3, r6", "mul r7, r5, r2", "st r7, [p1, #0]", "mov p0, r8", "eq r9, r7, r2",
)  # fmt: skip
HARDWARE_LOOP = (
    "movxm ls, {start}", "movxm le, {end}", "movxm lc, #2000000000", *[""] * 60,
    "start:", "|16|add r0, r0, r1", "end:", "|16|xor r2, r2, r0", "done",
)  # fmt: skip
MACS = (
    "loop:",
    "vlda wl0, [p0], #32; vldb wl1, [p1, #0]", "vmac cm0, cm0, x0, x1, r0; mov p0, r8",
    "vlda wl2, [p0], #32; vldb wl3, [p1, #0]", "vmac cm1, cm1, x2, x3, r0", "j {loop}",
    "vmac cm2, cm2, x0, x1, r0", "mov p0, r8", "vmac cm3, cm3, x2, x3, r0", "", "",
)  # fmt: skip
REGISTERS = {"p0": OWN, "p1": OWN + 4096, "r0": 826, "r1": 3, "r4": 0xFFFF, "r6": 2, "r8": OWN, "m0": 4}


def measure(lines: tuple[str, ...], engine: Engine, bundles: int) -> tuple[float, float]:
    """Seconds for the first bundle, and bundles per second after it."""
    default_store.cache_clear()
    bench = Bench(assemble(*lines), engine).set(REGISTERS)
    bench.own[:] = np.random.default_rng(0).integers(0, 256, bench.own.size)
    start = time.perf_counter()
    bench.core.run(200)
    first = time.perf_counter() - start
    start = time.perf_counter()
    bench.core.run(bundles)
    return first, bundles / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bundles", type=int, default=50_000_000, help="bundles for the compiled engine")
    options = parser.parse_args()
    os.environ["AIEPIPE_NO_CACHE"] = "1"
    print(f"{'loop':16}{'first run':>12}{'compiled':>16}{'plain':>16}{'ratio':>9}")
    for name, lines in (("scalar", SCALAR), ("hardware loop", HARDWARE_LOOP), ("16-bit MACs", MACS)):
        first, compiled = measure(lines, "jit", options.bundles)
        _, plain = measure(lines, "plain", 20_000)
        speeds = f"{compiled / 1e6:>12.1f} M/s{plain / 1e6:>12.3f} M/s"
        print(f"{name:16}{first * 1000:>9.0f} ms{speeds}{compiled / plain:>9.0f}")


if __name__ == "__main__":
    main()
