"""A failing point of a sweep to the smallest that fails in the same way, and that to a regression test.

Greedy: of all smaller neighbours the first that fails alike is taken, until none does. "Alike" is the same
verdict, kind of error, stage, and message up to its numbers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ..errors import AiepipeError
from ..frontend.compiler import Compiler
from ..testing.header import MARKER
from ..testing.sweep import MatmulShape, SourceFile, SweepPoint, SweepRow, SweepVerdict
from .program_directory import write_file
from .stages import Progress, silent
from .sweep_point import program_text

Judge = Callable[[SweepPoint], SweepRow]

MOST_TRIES = 300
_LONGEST_REASON = 300
_NUMBER = re.compile(r"[0-9]+")
_TENSOR = re.compile(r"tensor<((?:[0-9]+x)+)")


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smallest point found, what it gives, and how many were tried."""

    point: SweepPoint
    row: SweepRow
    tries: int


def reduce_point(
    point: SweepPoint, row: SweepRow, judge: Judge, compiler: Compiler, progress: Progress = silent
) -> Reduced:
    """Shrinks a point that gave `row`, which is a failure."""
    search = _Search(point, row, judge, progress)
    search.exhaust(_smaller_settings)
    if isinstance(search.point.program, MatmulShape):
        search.exhaust(_smaller_matmuls)
        try:
            source = program_text(search.point)
        except AiepipeError:
            return search.found
        search.exhaust(lambda p: iter([dataclasses.replace(p, program=_as_file(source.text))]))
    search.exhaust(_random_inputs)
    search.exhaust(lambda p: (*_fewer_ops(p, compiler), *_smaller_tensors(p)))
    return search.found


def write_regression(folder: Path, reduced: Reduced, origin: SweepPoint) -> Path:
    """Writes the test file: the program under a block that states how it fails today. Raises UsageError."""
    text = regression_text(reduced, origin)
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    path = folder / f"{reduced.row.verdict.value}_{digest}.mlir"
    write_file(path, text.encode())
    return path


def regression_text(reduced: Reduced, origin: SweepPoint) -> str:
    """The file's text (docs/tests-in-mlir.md has the grammar)."""
    point, row = reduced.point, reduced.row
    program = point.program
    reason = " ".join(f"{row.kind} {row.message}".split())[:_LONGEST_REASON]
    function = program.function if isinstance(program, SourceFile) else None
    inputs, expected = (program.inputs, program.expected) if isinstance(program, SourceFile) else ((), ())
    header = [
        "Reduced by `aiepipe sweep --reduce` from:",
        f"  {origin}",
        "",
        MARKER,
        *([f"function: @{function}"] if function else []),
        *(f"input: {text}" for text in inputs),
        *(f"output: {text}" for text in expected),
        f"seed: {point.seed}",
        f"coherency-seed: {point.seed}",
        *([f"sync-policy: {point.policy}"] if point.policy != "default" else []),
        *([f"repeat: {point.repeat}"] if point.repeat > 1 else []),
        *([f"flags: {' '.join(point.flags)}"] if point.flags else []),
        *([f"backend: {point.backend}"] if point.backend != "builtin" else []),
        # a crash is covered by no xfail: the test fails until it is mended
        *([f"xfail: {reason}"] if row.verdict is not SweepVerdict.CRASH else []),
    ]
    body = "".join(line + "\n" for line in program_text(point).text.splitlines() if not line.startswith("//"))
    return "".join(f"// {line}".rstrip() + "\n" for line in header) + body


class _Search:
    """The point that fails, and the count of tries."""

    def __init__(self, point: SweepPoint, row: SweepRow, judge: Judge, progress: Progress) -> None:
        self.point, self.row, self.tries = point, row, 0
        self._judge, self._progress = judge, progress
        self._wanted = _likeness(row)
        self._seen = {point}

    @property
    def found(self) -> Reduced:
        return Reduced(self.point, self.row, self.tries)

    def exhaust(self, neighbours: Callable[[SweepPoint], object]) -> None:
        """Goes to smaller neighbours as long as one fails alike."""
        while any(map(self._fails_alike, cast("Iterator[SweepPoint]", neighbours(self.point)))):
            continue

    def _fails_alike(self, candidate: SweepPoint) -> bool:
        if candidate in self._seen or self.tries >= MOST_TRIES:
            return False
        self._seen.add(candidate)
        self.tries += 1
        self._progress(f"reducing: {self.tries} tries, now {self.point}")
        row = self._judge(candidate)
        if _likeness(row) != self._wanted:
            return False
        self.point, self.row = candidate, row
        return True


def _likeness(row: SweepRow) -> tuple[str, ...]:
    if row.verdict is SweepVerdict.WRONG:
        return row.signature
    message = row.message if row.verdict is SweepVerdict.ERROR else ""
    return (*row.signature, _NUMBER.sub("#", message))


# --------------------------------------------------------------------------- neighbours


def _smaller_settings(point: SweepPoint) -> Iterator[SweepPoint]:
    if point.policy != "default":
        yield dataclasses.replace(point, policy="default")
    for repeat in _below(point.repeat):
        yield dataclasses.replace(point, repeat=repeat)
    for i in range(len(point.flags)):
        yield dataclasses.replace(point, flags=point.flags[:i] + point.flags[i + 1 :])


def _smaller_matmuls(point: SweepPoint) -> Iterator[SweepPoint]:
    shape = point.program
    if not isinstance(shape, MatmulShape):
        return
    smaller = [
        *(dataclasses.replace(shape, m=m) for m in _below(shape.m)),
        *(dataclasses.replace(shape, n=n) for n in _below(shape.n)),
        *(dataclasses.replace(shape, k=k) for k in _below(shape.k)),
        *([dataclasses.replace(shape, transpose="")] if shape.transpose else []),
        *([dataclasses.replace(shape, fill="0")] if shape.fill not in ("0", None) else []),
    ]
    yield from (dataclasses.replace(point, program=program) for program in smaller)


def _random_inputs(point: SweepPoint) -> Iterator[SweepPoint]:
    """Without given values, so that shapes are free."""
    program = point.program
    if isinstance(program, SourceFile) and (program.inputs or program.expected):
        yield dataclasses.replace(point, program=dataclasses.replace(program, inputs=(), expected=()))


def _fewer_ops(point: SweepPoint, compiler: Compiler) -> Iterator[SweepPoint]:
    program = point.program
    if not isinstance(program, SourceFile) or program.inputs or program.expected:
        return
    try:
        texts = cast(
            "list[str]",
            compiler.request(
                "aiepipe.frontend.shrinking:variants",
                file=program.file,
                text=program.text,
                function=program.function,
            ),
        )
    except AiepipeError:
        return
    for text in texts:
        yield dataclasses.replace(point, program=dataclasses.replace(program, text=text))


def _smaller_tensors(point: SweepPoint) -> Iterator[SweepPoint]:
    """Each size that tensors have, made smaller wherever it stands; what is no MLIR then fails otherwise."""
    program = point.program
    if not isinstance(program, SourceFile) or program.inputs or program.expected:
        return
    sizes = {int(s) for dims in _TENSOR.findall(program.text) for s in dims.split("x")[:-1]}
    for size in sorted(sizes, reverse=True):
        for smaller in _below(size):
            text = _resized(program.text, size, smaller)
            yield dataclasses.replace(point, program=dataclasses.replace(program, text=text))


def _resized(text: str, size: int, smaller: int) -> str:
    def dims(match: re.Match[str]) -> str:
        sizes = [str(smaller) if int(s) == size else s for s in match[1].split("x")[:-1]]
        return f"tensor<{'x'.join(sizes)}x"

    return _TENSOR.sub(dims, text)


def _as_file(text: str) -> SourceFile:
    return SourceFile("<reduced>", text)


def _below(number: int) -> Iterator[int]:
    """Smaller numbers from 1, the smallest first: a big step that holds saves many small ones."""
    tried: set[int] = set()
    for smaller in (1, number // 8, number // 4, number // 2, number - 1):
        if 1 <= smaller < number and smaller not in tried:
            tried.add(smaller)
            yield smaller
