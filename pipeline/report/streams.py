"""Standard streams that are always there: closed ones are opened on nothing, and a reader may leave early.

`aiepipe ... | head` ends with the command's own exit code, and `aiepipe ... >&-` does not hand a closed
descriptor's number to the worker's pipes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO, cast

_STANDARD = (0, 1, 2)


def secure_streams() -> None:
    """To be called once, before anything else opens a file."""
    for descriptor in _STANDARD:
        try:
            os.fstat(descriptor)
        except OSError:
            # the lowest free number is given, and those below are open by now
            os.open(os.devnull, os.O_RDWR)
    if cast("TextIO | None", sys.stdout) is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  (lives as long as we do)
    if cast("TextIO | None", sys.stderr) is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = cast("TextIO", PatientOutput(sys.stdout))


class PatientOutput:
    """A text stream that goes on when nobody reads any more; all else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._give_up()
            return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._give_up()

    def _give_up(self) -> None:
        """What is buffered, and what Python flushes at exit, goes nowhere from now on."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
