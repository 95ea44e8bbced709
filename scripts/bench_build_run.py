"""How long `aiepipe build-run` takes against IREE's own way on the CPU, cold processes both.

Prints, from one run, the ratio of `aiepipe build-run mlir/matmul.mlir` to `iree-compile` (llvm-cpu) plus
`iree-run-module` on the same file with the same inputs. The two take turns, so that a machine whose speed
drifts changes both. "first" has an empty aiepipe cache (core programs are compiled by LLVM), "again" the
cache of the runs before. Needs the `oracle` extra.

    python scripts/bench_build_run.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

MATMUL = Path(__file__).resolve().parent.parent / "mlir" / "matmul.mlir"
TOOLS = Path(sys.executable).parent
INPUTS = ("--input=64x16xi32=1", "--input=16x64xi32=2")
EXPECTED = "64x64xi32=39"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    rounds: int = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as scratch:
        aiepipe(Path(scratch) / "warm-up")  # leaves bytecode, and files in the page cache
        iree(Path(scratch))
        cache = Path(scratch) / "cache"
        first = seconds(lambda: aiepipe(cache))
        pairs = [
            (seconds(lambda: aiepipe(cache)), seconds(lambda: iree(Path(scratch)))) for _ in range(rounds)
        ]
    ours = statistics.median(pair[0] for pair in pairs)
    theirs = statistics.median(pair[1] for pair in pairs)
    ratios = sorted(a / b for a, b in pairs)
    print(f"aiepipe build-run, first   {first:6.2f} s   ratio {first / theirs:.2f}")
    print(f"aiepipe build-run, again   {ours:6.2f} s   (median of {rounds})")
    print(f"iree-compile + run-module  {theirs:6.2f} s   (median of {rounds})")
    print(
        f"ratio, again               {statistics.median(ratios):6.2f}     "
        f"(from {ratios[0]:.2f} to {ratios[-1]:.2f})"
    )


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def aiepipe(cache: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "aiepipe",
        "build-run",
        str(MATMUL),
        *INPUTS,
        f"--expected-output={EXPECTED}",
    ]
    # as after a pip install, which leaves bytecode: where writing it is forbidden, the parser is measured
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["AIEPIPE_CACHE_DIR"] = str(cache)
    subprocess.run(command, check=True, capture_output=True, env=environment)


def iree(scratch: Path) -> None:
    module = scratch / "matmul.vmfb"
    compile_it = [
        str(TOOLS / "iree-compile"),
        str(MATMUL),
        "--iree-hal-target-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
        "-o",
        str(module),
    ]
    run_it = [
        str(TOOLS / "iree-run-module"),
        f"--module={module}",
        "--device=local-sync",
        *INPUTS,
        f"--expected_output={EXPECTED}",
    ]
    subprocess.run(compile_it, check=True, capture_output=True)
    subprocess.run(run_it, check=True, capture_output=True)


if __name__ == "__main__":
    main()
