"""The whole grid of contractions against numpy: kinds, types, sizes, fill or accumulator, transpositions,
cores.

    PYTHONPATH=. python scripts/grid_matmul.py [--kinds matmul ...] [--types i8,i8 ...] [--cores 1 4 16]
                                               [--seed 0] [--most 100] [--large]

The test suite runs a part of it (tests/codegen/test_matmul_grid.py); this takes minutes to hours. A line per
failure with what repeats it, and a summary; exit code 1 where something failed. `--most` draws that many
cases of the grid; `--large` is for sizes up to 4096 along one loop instead.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time

from tests.codegen.matmul_cases import KINDS, PAIRS, check, grid

SIZES = (1, 2, 4, 7, 8, 15, 16, 17, 31, 64, 65, 101, 128, 200)
LARGE = [
    shape
    for long, short, other in itertools.product((1023, 1024, 2000, 4096), (1, 4, 17), (1, 8, 33))
    for shape in ((long, short, other), (other, long, short), (short, other, long))
]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--types", nargs="*", default=[",".join(pair) for pair in PAIRS])
    parser.add_argument("--cores", nargs="*", type=int, default=[1, 4, 16])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=0, help="this many cases, drawn by the seed")
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    pairs = [pair for pair in PAIRS if ",".join(pair) in arguments.types]
    shapes = LARGE if arguments.large else list(itertools.product(SIZES, SIZES, SIZES))
    cores_: list[int] = arguments.cores
    cases = [(case, cores) for case in grid(arguments.kinds, pairs, shapes) for cores in cores_]
    random.Random(arguments.seed).shuffle(cases)  # noqa: S311  (which cases, no secret)
    if arguments.most:
        cases = cases[: arguments.most]
    start, failed = time.monotonic(), 0
    for case, cores in cases:
        try:
            check(case, cores=cores, repeat=2)
        except Exception as fault:  # noqa: BLE001  (any failure is a line of the report)
            failed += 1
            print(f"{case} on {cores} cores: {type(fault).__name__} {str(fault).splitlines()[:1]}")
    print(f"{len(cases)} cases, {failed} failed, {time.monotonic() - start:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
