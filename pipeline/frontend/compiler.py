"""The front end's public face: MLIR text in, `SourceModule` and `Program` out, IREE behind a process wall.

    with Compiler() as compiler:
        program = compiler.compile("matmul.mlir", text)

Nothing here imports IREE; the worker does, once, and serves all requests of one Compiler.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from ..errors import WorkerCrash
from ..program import Program, SourceModule
from .framing import FreshProcessNeeded
from .process import WorkerFault, WorkerProcess

DEFAULT_TIMEOUT_S = 120.0
DEFAULT_MEMORY_LIMIT_BYTES = 4 * 2**30
ANSWERS_KEPT = 8
PARSE = "aiepipe.frontend.extraction:parse"
COMPILE = "aiepipe.frontend.extraction:compile_program"

Scalars = Mapping[str, Mapping[int, bytes]]


class Compiler:
    """Owns the worker process: starts it when it is needed, again after a crash, ends it at `close`."""

    def __init__(
        self,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        memory_limit_bytes: int | None = DEFAULT_MEMORY_LIMIT_BYTES,
        packages: Path | None = None,
    ) -> None:
        """`packages` is a folder with another `iree.compiler` than the one installed here."""
        self.timeout_s = timeout_s
        self.memory_limit_bytes = memory_limit_bytes
        self._packages = packages
        self._worker: WorkerProcess | None = None
        self._lock = threading.Lock()
        self._answers: dict[bytes, Any] = {}
        self._answering = threading.Lock()
        self.seconds: dict[str, float] = {}
        """How long the last answer of each handler took, the wait for the worker included."""

    def __enter__(self) -> Compiler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Starts the worker in the background, so that IREE is imported while other work is done."""
        with self._lock:
            if self._worker is None:
                self._worker = WorkerProcess(self._packages)

    def close(self) -> None:
        """Ends the worker. A later request starts a new one."""
        with self._lock:
            self._drop()

    def parse(self, file: str, text: str, *, scalars: Scalars | None = None) -> SourceModule:
        """The public functions of the file as the user wrote them, before any pass.

        `scalars` fixes values of scalar arguments, by function and argument index (as bytes,
        little-endian); sizes that depend on others are -1. Raises CompileError.
        """
        return cast(
            "SourceModule",
            self.answer(PARSE, file=file, text=text, scalars=scalars or {}),
        )

    def compile(
        self,
        file: str,
        text: str,
        *,
        flags: Sequence[str] = (),
        scalars: Scalars | None = None,
        functions: Sequence[str] | None = None,
    ) -> Program:
        """The program that IREE makes of the file, up to its phase executable-sources.

        `flags` are IREE's, in order, after ours. Scalar arguments must have a value in `scalars`.
        `functions` names the ones to compile; by default all that can be (`Program.refused` has the others
        with the reason). Raises CompileError, UsageError for a flag that IREE does not know.
        """
        return cast(
            "Program",
            self.answer(
                COMPILE,
                file=file,
                text=text,
                flags=list(flags),
                scalars=scalars or {},
                functions=None if functions is None else list(functions),
            ),
        )

    def answer(self, handler: str, /, **arguments: object) -> Any:
        """What `request` gives, for a handler that always says the same to the same arguments: the last few
        answers are kept, so that what was asked ahead of time is there when it is wanted. Errors are not."""
        key = pickle.dumps((handler, sorted(arguments.items())))
        with self._answering:
            if key not in self._answers:
                start = time.perf_counter()
                self._answers[key] = self.request(handler, **arguments)
                self.seconds[handler] = time.perf_counter() - start
                while len(self._answers) > ANSWERS_KEPT:
                    self._answers.pop(next(iter(self._answers)))
            return self._answers[key]

    def request(self, handler: str, /, **arguments: object) -> Any:
        """Runs "module:function" with these arguments in the worker; both must be picklable.

        Raises what the function raises, WorkerCrash when the process dies or exceeds a limit, WorkerFault
        for any other exception there.
        """
        with self._lock:
            try:
                try:
                    return self._ask(handler, arguments)
                except FreshProcessNeeded:
                    self._drop()
                    return self._ask(handler, arguments)
            except BaseException as reason:
                # the answer to a request that was interrupted (by a user, by a test runner's time limit)
                # would be taken for the next one's
                if isinstance(reason, WorkerCrash) or not isinstance(reason, Exception):
                    self._drop()
                raise

    def _ask(self, handler: str, arguments: Mapping[str, object]) -> Any:
        if self._worker is None:
            self._worker = WorkerProcess(self._packages)
        return self._worker.request(
            handler, arguments, timeout_s=self.timeout_s, memory_limit_bytes=self.memory_limit_bytes
        )

    def output(self) -> str:
        """What the compiler wrote to its standard error during the last request (e.g. IR printing)."""
        with self._lock:
            return "" if self._worker is None else self._worker.output()

    def _drop(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None


__all__ = ["Compiler", "WorkerFault"]
