"""The whole grid of matmuls on the multiplier array against numpy: types x shapes x transpositions x cores.

    PYTHONPATH=. python scripts/grid_matmul.py [--types i8,i8 ...] [--cores 1 4 16] [--seed 0] [--most 100]

The test suite runs a part of it; this takes minutes to an hour. A line per failure with what repeats it,
and a summary; exit code 1 where something failed. `--most` draws that many cases of the grid.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time

from tests.codegen.test_array_execution import PAIRS, build, check

SIZES = (1, 4, 7, 8, 15, 16, 17, 31, 64, 65, 101, 128, 200)
PACKED = (4, 8, 12, 16, 20, 60, 64, 68, 128, 132, 500)
"""Of loops along which operands are packed: whole words."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--types", nargs="*", default=[",".join(pair) for pair in PAIRS])
    parser.add_argument("--cores", nargs="*", type=int, default=[1, 4, 16])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=0, help="this many cases, drawn by the seed")
    arguments = parser.parse_args()
    kinds = list(itertools.product(arguments.types, arguments.cores))
    turns = [(a, b) for a in (False, True) for b in (False, True)]
    sizes = list(itertools.product(SIZES, PACKED, PACKED))
    cases = [(kind, size, turn) for kind in kinds for size in sizes for turn in turns]
    random.Random(arguments.seed).shuffle(cases)  # noqa: S311  (which cases, no secret)
    if arguments.most:
        cases = cases[: arguments.most]
    start, failed = time.monotonic(), 0
    for (types, cores), (m, n, k), transpose in cases:
        left, right = types.split(",")
        rows = -(-m // 4) * 4 if transpose[0] else m
        try:
            check(build(rows, n, k, (left, right), transpose=transpose), cores=cores, transpose=transpose)
        except Exception as fault:  # noqa: BLE001  (any failure is a line of the report)
            failed += 1
            print(
                f"{types} {rows}x{n}x{k} transposed {transpose} cores {cores}: {str(fault).splitlines()[:1]}"
            )
    print(f"{len(cases)} cases, {failed} failed, {time.monotonic() - start:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
