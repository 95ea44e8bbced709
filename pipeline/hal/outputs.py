"""Where each result comes from: everything that writes its bytes, in order, and a sentence that says it.

The first question about wrong zeros is "who fills this buffer?". Here it is answered from the HAL IR: fills,
copies (followed to what was copied), updates, dispatches by their declared access, and memory with two uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..frontend.dispatches import DispatchTable
from ..program import Access
from ..verdict import BufferOperation, BufferWriter, FillFate, OutputHistory
from .builtins import is_builtin_fill
from .happenings import DispatchRun, Happening, Place, Returned, one_by_one
from .interpretation import START_UP, HalReader
from .operations import Located, overlap
from .values import sum_known

_DEPTH = 4
_BINDINGS_WRITTEN = (Access.WRITE, Access.READ_WRITE)


@dataclass(frozen=True, slots=True)
class _Written:
    """A range that something writes: an operation, or a dispatch with its access."""

    happening: Happening
    place: Place
    operation: BufferOperation | None
    access: Access | None


class OutputReader:
    """Answers for one module."""

    def __init__(
        self,
        reader: HalReader,
        operations: Sequence[Located],
        table: DispatchTable,
        fates: Sequence[FillFate],
    ) -> None:
        self._reader = reader
        self._table = table
        self._fates = fates
        self._bound = [(h, run, self._bindings(run)) for h, run in _runs(reader)]
        self._written = list(self._all_written(operations))

    def histories(self) -> tuple[OutputHistory, ...]:
        """One per result, by function and index."""
        found: dict[tuple[str, int], list[Returned]] = {}
        for returned in self._reader.returned:
            found.setdefault((returned.function, returned.index), []).append(returned)
        return tuple(self._history(found[key]) for key in sorted(found))

    def sharing(self) -> tuple[str, ...]:
        """Lines about memory that has two uses."""
        lines = [*self._overlapping_bindings(), *self._shared_results(), *self._written_arguments()]
        return tuple(dict.fromkeys([*lines, *self._reused_transients()]))

    # ----------------------------------------------------------------- what writes what

    def _all_written(self, operations: Sequence[Located]) -> Iterator[_Written]:
        located = iter(operations)
        bound = {id(happening): bindings for happening, _, bindings in self._bound}
        for happening in self._reader.happenings:
            what = happening.what
            if isinstance(what, DispatchRun) and not is_builtin_fill(what.name):
                for place, access in bound[id(happening)]:
                    if access in _BINDINGS_WRITTEN:
                        yield _Written(happening, place, None, access)
                continue
            # operations stand in the order of the happenings that they were made of
            operation = next(located).operation
            place = what.bindings[0] if isinstance(what, DispatchRun) else what.target
            offset, length = operation.offset_bytes, operation.length_bytes
            yield _Written(happening, Place(place.buffer, offset, length), operation, None)

    def _bindings(self, run: DispatchRun) -> list[tuple[Place, Access]]:
        """The range behind each binding of a dispatch, as its body declares it; where the body cannot be
        read, all are taken for written."""
        body = self._table.read(run.name, run.constants)
        if body is None:
            return [(place, Access.READ_WRITE) for place in run.bindings]
        found: list[tuple[Place, Access]] = []
        for subspan in body.subspans:
            if subspan.index < len(run.bindings):
                place = run.bindings[subspan.index]
                offset = sum_known(place.offset_bytes, subspan.offset_bytes)
                found.append((Place(place.buffer, offset, subspan.type.size_bytes), subspan.access))
        return found

    def _writers(self, target: Place, path: tuple[int, ...] = ()) -> list[BufferWriter]:
        """What writes there. `path` are the happenings being explained: a loop may copy what it copied."""
        return [
            self._writer(item, path)
            for item in self._written
            if id(item.happening) not in path and overlap(item.place, target)
        ]

    def _writer(self, item: _Written, path: tuple[int, ...]) -> BufferWriter:
        what = item.happening.what
        if item.operation is not None:
            kind, form = item.operation.kind, item.operation.form
            words = self._operation(item.operation, item.happening, path)
        else:
            assert isinstance(what, DispatchRun)
            kind = "dispatch" if item.access is Access.WRITE else "accumulation"
            form = what.name
            words = self._dispatch(what, kind)
        return BufferWriter(
            kind,
            form,
            item.happening.when,
            item.place.offset_bytes,
            item.place.length_bytes,
            what.location,
            words,
        )

    def _operation(self, operation: BufferOperation, happening: Happening, path: tuple[int, ...]) -> str:
        when = "at start-up" if operation.when == START_UP else "at each call"
        if operation.kind == "fill":
            value = "a run-time value" if operation.value is None else operation.value
            return f"filled with {value} {when} ({operation.form})"
        if operation.kind != "copy":
            return f"written with data of the module or the host {when} ({operation.form})"
        source = getattr(happening.what, "source", None)
        if not isinstance(source, Place) or source.buffer is None:
            return f"copied {when} ({operation.form})"
        name = _name(source)
        before = [] if len(path) >= _DEPTH else self._writers(source, (*path, id(happening)))
        origin = f", which was {_joined([writer.what for writer in before])}" if before else ""
        return f"copied {when} ({operation.form}) from {name}{origin}"

    def _dispatch(self, run: DispatchRun, kind: str) -> str:
        fused = [fate for fate in self._fates if f"dispatch {run.name}" in fate.fate]
        inside = [
            f"the {fate.source_op} of {fate.value or 'a run-time value'} "
            f"({fate.location.line}:{fate.location.column}) is inside it"
            for fate in fused
        ]
        verb = "written by" if kind == "dispatch" else "read and overwritten by"
        return f"{verb} dispatch {run.name}" + (f" ({'; '.join(dict.fromkeys(inside))})" if inside else "")

    # ----------------------------------------------------------------- the answers

    def _history(self, returned: Sequence[Returned]) -> OutputHistory:
        """`returned` is one result: several ranges are what a branch chooses from."""
        places = [each.place for each in returned]
        writers = [self._writers(place) for place in places]
        names = [_name(place) for place in places]
        clauses = [_clause(name, wrote) for name, wrote in zip(names, writers, strict=True)]
        subject = f"result {returned[0].index} of @{returned[0].function}"
        sentence = f"{subject}{clauses[0]}"
        if len(clauses) > 1:
            listed = "; ".join(
                f"({i}) {clause.removeprefix(' is ') if clause.startswith(f' is {name}') else name + clause}"
                for i, (name, clause) in enumerate(zip(names, clauses, strict=True), 1)
            )
            sentence = f"{subject} is one of {len(clauses)} buffers, as a branch or loop decides: {listed}"
        return OutputHistory(
            returned[0].function,
            returned[0].index,
            " or ".join(dict.fromkeys(names)),
            sentence,
            tuple(dict.fromkeys(writer for wrote in writers for writer in wrote)),
        )

    def _overlapping_bindings(self) -> Iterator[str]:
        for happening, run, bindings in self._bound:
            for i, (first, access) in enumerate(bindings):
                for j, (second, other) in enumerate(bindings[:i]):
                    writes = access.writes or other.writes
                    if writes and overlap(first, second):
                        yield (
                            f"dispatch {run.name} in @{happening.function}: bindings {j} ({other.value}) and "
                            f"{i} ({access.value}) share bytes of {_name(first)}"
                        )

    def _shared_results(self) -> Iterator[str]:
        for returned in self._reader.returned:
            buffer = returned.range.buffer
            same = [
                r.index
                for r in self._reader.returned
                if r.function == returned.function and r.range.buffer is buffer
            ]
            if len(set(same)) > 1 and returned.index == min(same):
                listed = ", ".join(map(str, sorted(set(same))))
                size = "" if buffer.size_bytes is None else f" of {buffer.size_bytes} bytes"
                yield f"results {listed} of @{returned.function} lie in one buffer{size}"
            if buffer.argument is not None:
                alike = [
                    r
                    for r in self._reader.returned
                    if (r.function, r.index) == (returned.function, returned.index)
                ]
                yield (
                    f"result {returned.index} of @{returned.function} {'may be' if len(alike) > 1 else 'is'} "
                    f"the buffer of argument {buffer.argument}"
                )

    def _written_arguments(self) -> Iterator[str]:
        for item in self._written:
            function, parts = item.happening.function, one_by_one(item.place)
            verb = "is" if len(parts) == 1 else "may be"
            for part in parts:
                if part.buffer is not None and part.buffer.argument is not None:
                    yield f"argument {part.buffer.argument} of @{function} {verb} written by {_form(item)}"

    def _reused_transients(self) -> Iterator[str]:
        returned = {id(r.range.buffer) for r in self._reader.returned}
        for i, item in enumerate(self._written):
            buffer = item.place.buffer
            if buffer is None or buffer.argument is not None or buffer.global_name is not None:
                continue
            for earlier in self._written[:i]:
                if item.happening is not earlier.happening and overlap(item.place, earlier.place):
                    what = "a result" if id(buffer) in returned else "transient memory"
                    yield (
                        f"bytes of {what} in @{item.happening.function} are written by {_form(earlier)} and "
                        f"then by {_form(item)}"
                    )


def _clause(buffer: str, writers: Sequence[BufferWriter]) -> str:
    """What is said of a buffer, after its name."""
    if not writers:
        if buffer.startswith("argument"):
            return f" is {buffer} itself; nothing fills, copies or writes it"
        return ": nothing in the HAL IR writes it"
    steps = _joined([writer.what for writer in writers])
    kinds = {writer.kind for writer in writers}
    if kinds & {"fill", "copy", "update"}:
        return f" is {steps}"
    where = "it is the caller's memory" if buffer.startswith("argument") else "it is allocated uninitialised"
    return f" is filled by nothing in the HAL IR: {where} and {steps}"


def _joined(steps: Sequence[str]) -> str:
    return ", then ".join(dict.fromkeys(steps))


def _runs(reader: HalReader) -> Iterator[tuple[Happening, DispatchRun]]:
    for happening in reader.happenings:
        if isinstance(happening.what, DispatchRun) and not is_builtin_fill(happening.what.name):
            yield happening, happening.what


def _name(place: Place) -> str:
    parts = one_by_one(place)
    if len(parts) > 1:
        return " or ".join(dict.fromkeys(map(_name, parts)))
    buffer = place.buffer
    if buffer is None:
        return "a buffer that is not known"
    if buffer.argument is not None:
        return f"argument {buffer.argument}"
    if buffer.global_name is not None:
        return f"global @{buffer.global_name}"
    return "memory of this call"


def _form(item: _Written) -> str:
    if item.operation is not None:
        return item.operation.form
    return f"dispatch {item.happening.what.name}" if isinstance(item.happening.what, DispatchRun) else ""
