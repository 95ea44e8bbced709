"""What the runner and the sanitizer cost: processor time of a repeat, as ratios to the bare emulated API.

    python scripts/bench_runner.py [FILE.mlir] [--repeat N]

The bare loop is the recipe of docs/syncs.md by hand: write, sync, start, wait, sync, read; setting arguments
and starting is the session's, which does no more than that. All three loops
run the same binaries on the same emulated device; processor time, as others may use the machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from aiepipe.backends.builtin import BuiltinBackend
from aiepipe.flows.build import compile_dispatches, host_function
from aiepipe.flows.problem import pose
from aiepipe.flows.source import read_source
from aiepipe.flows.stages import StageNotes
from aiepipe.frontend.compiler import Compiler
from aiepipe.program import Artifact
from aiepipe.xrt import emulated as pyxrt
from aiepipe.xrt.emulation import Settings, emulation
from aiepipe.xrt.runner import run_program
from aiepipe.xrt.sanitizer import Sanitizer
from aiepipe.xrt.session import KernelSource, Session

TO = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
FROM = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE


def main() -> None:
    """Prints one line for each loop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", default=str(Path(__file__).parents[1] / "mlir/matmul.mlir"))
    parser.add_argument("--repeat", type=int, default=60)
    options = parser.parse_args()
    source = read_source(options.file)
    with Compiler() as compiler:
        problem = pose(compiler, source, function=None, inputs=())
        name = problem.function.name
        program = compiler.compile(source.file, source.text, functions=[name])
    function = host_function(program, name)
    built = compile_dispatches(program, [function], BuiltinBackend(), StageNotes())
    if len(built.artifacts) != 1:
        parser.error("the bare loop knows programs of one dispatch")
    arrays = problem.arguments((), 1).arrays
    (artifact,) = built.artifacts.values()

    def runner(repeat: int) -> None:
        run_program(program, function, built.artifacts, arrays, device=pyxrt, repeat=repeat, keep=1)

    times = {
        "bare API": measured(lambda n: bare(artifact, n), options.repeat),
        "runner": measured(runner, options.repeat),
        "runner, sanitizer": measured(runner, options.repeat, watched=True),
    }
    base = times["bare API"]
    for what, seconds in times.items():
        print(f"{what:18} {seconds * 1e3:7.2f} ms a run   {seconds / base:5.2f}")


def measured(loop: Callable[[int], None], repeat: int, *, watched: bool = False) -> float:
    """Processor seconds of one repeat: of `repeat` more than a few, so that starting up does not count."""

    def once(count: int) -> float:
        with emulation(Settings(seed=1)) as device:
            if watched:
                Sanitizer.attach(device)
            began = time.process_time()
            loop(count)
            return time.process_time() - began

    few = 3
    once(few)
    best = min(once(few + repeat) - once(few) for _ in range(3))
    return best / repeat


def bare(artifact: Artifact, repeat: int) -> None:
    """The recipe by hand, with poison."""
    with Session(pyxrt) as session:
        source = KernelSource(
            artifact.dispatch, artifact.xclbin, artifact.kernel, artifact.instructions, artifact.convention
        )
        kernel = session.load(source)
        sizes = [binding.type.size_bytes for binding in artifact.bindings]
        names = [f"buffer {i}" for i in range(len(sizes))]
        group = session.group_of(kernel)
        buffers = [session.buffer(n, "data", s, group).handle for n, s in zip(names, sizes, strict=True)]
        poison = [np.full(size, 0xA5, np.uint8) for size in sizes]
        for _ in range(repeat):
            for buffer, data in zip(buffers, poison, strict=True):
                buffer.write(data, 0)
                buffer.sync(TO, data.size, 0)
            session.launch(kernel, buffers)
            buffers[-1].sync(FROM, sizes[-1], 0)
            np.frombuffer(buffers[-1].map(), np.uint8).copy()


if __name__ == "__main__":
    main()
