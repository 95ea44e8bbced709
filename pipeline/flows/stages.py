"""Stages of a command: their names for the progress line, their times and files for the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..errors import AiepipeError
from ..verdict import FileRecord, StageReport

Progress = Callable[[str], None]


def silent(stage: str) -> None:
    """A progress listener that does not listen."""
    del stage


@dataclass(slots=True)
class StageNotes:
    """What a stage says about itself while it runs. `seconds` is there where its work was begun ahead of
    it, and then more than the clock's."""

    note: str = ""
    seconds: float = 0.0
    details: list[str] = field(default_factory=list[str])
    files: list[FileRecord] = field(default_factory=list[FileRecord])


class StageClock:
    """Times stages in the order in which they end, and tells `progress` when one starts."""

    def __init__(self, progress: Progress = silent) -> None:
        self._progress = progress
        self._done: list[StageReport] = []

    @contextmanager
    def stage(self, name: str, doing: str) -> Generator[StageNotes]:
        """One stage: `name` is for the report, `doing` for the progress line ("compiling with IREE")."""
        self._progress(doing)
        notes = StageNotes()
        start = time.perf_counter()
        try:
            yield notes
        except AiepipeError as error:
            error.stage = error.stage or name
            raise
        self.add(name, max(time.perf_counter() - start, notes.seconds), notes)

    def add(self, name: str, seconds: float, notes: StageNotes) -> None:
        """A stage that was timed elsewhere (it ran beside another)."""
        self._done.append(StageReport(name, seconds, tuple(notes.files), notes.note, tuple(notes.details)))

    @property
    def reports(self) -> tuple[StageReport, ...]:
        return tuple(self._done)
