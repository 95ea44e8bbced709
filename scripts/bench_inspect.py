"""Time of `aiepipe inspect` per file, in one process, against `iree-compile --compile-to=hal` and grep.

The aim is under half. Both sides do all sample files once, in one run; the first file, which pays for the
import of IREE, is done once before. Usage: python scripts/bench_inspect.py [FILE...]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from aiepipe.frontend.compiler import Compiler
from aiepipe.hal.inspection import inspect

SAMPLES = Path(__file__).resolve().parent.parent / "mlir"


def main(names: list[str]) -> int:
    """Prints seconds per file of both ways, and their ratio."""
    files = [Path(name) for name in names] or sorted(SAMPLES.glob("*.mlir"))
    ours = _ours(files)
    theirs = _theirs(files)
    print(f"inspect, in process:           {ours:.3f} s per file ({len(files)} files)")
    print(f"iree-compile to hal, and grep: {theirs:.3f} s per file")
    print(f"ratio {ours / theirs:.2f} (aim: under 0.5)")
    return 0


def _ours(files: list[Path]) -> float:
    with Compiler() as compiler:
        inspect(compiler, files[0].name, files[0].read_text())
        start = time.perf_counter()
        for file in files:
            inspect(compiler, file.name, file.read_text())
        return (time.perf_counter() - start) / len(files)


def _theirs(files: list[Path]) -> float:
    compiler = Path(sys.executable).parent / "iree-compile"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "hal.mlir"
        command = [str(compiler), "--compile-to=hal", "--iree-hal-target-backends=llvm-cpu", "-o", str(out)]
        start = time.perf_counter()
        for file in files:
            # it crashes on some samples, which is as much as it does for them
            subprocess.run([*command, str(file)], check=False, capture_output=True)
            subprocess.run(["/bin/grep", "-c", "fill_buffer", str(out)], check=False, capture_output=True)
        return (time.perf_counter() - start) / len(files)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
