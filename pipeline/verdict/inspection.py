"""What inspection says: fills and their history, all that touches an output, what changed."""

from __future__ import annotations

from dataclasses import dataclass

from ..program import SourceLocation


@dataclass(frozen=True, slots=True)
class BufferOperation:
    """An op of the HAL IR that changes a buffer.

    `form` is the op ("hal.command_buffer.fill_buffer", "hal.device.queue.fill", a builtin dispatch such
    as "__builtin_splat_i64", "hal.command_buffer.copy_buffer", "hal.command_buffer.update_buffer", ...);
    `kind` is "fill", "copy" or "update"; `target` says which buffer ("result 0", "argument 1",
    "transient", "global"); `when` is "start-up" or "each call". `pattern` is what the op writes,
    `pattern_type` its type in the IR, `value` the same in the element type of the tensor. Offsets and
    lengths are None when the IR does not know them.
    """

    form: str
    kind: str
    function: str
    target: str
    when: str
    offset_bytes: int | None
    length_bytes: int | None
    location: SourceLocation
    pattern: bytes | None = None
    pattern_type: str | None = None
    element: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class FillStage:
    """What stands for a fill of the source after one of IREE's phases ("input", "flow", "stream", "hal").

    `form` is the op ("linalg.fill", "flow.tensor.splat", "stream.cmd.fill", ...), or "gone"; `place` where
    it is: "@main", "dispatch main_dispatch_0", "start-up"; `text` the op itself. `sure` is False where it
    was found by the ops that use the fill, since IREE kept nothing of the fill's own location.
    """

    phase: str
    form: str
    place: str
    text: str = ""
    sure: bool = True


@dataclass(frozen=True, slots=True)
class FillFate:
    """What became of one fill of the source: `fate` is a sentence, `stage` where it was decided.

    `role` says what the source uses it for ("accumulator of linalg.matmul", "result 1", ""); `history` has
    one or more entries per phase, in order.
    """

    source_op: str
    function: str
    location: SourceLocation
    element: str
    value: str | None
    fate: str
    stage: str = ""
    role: str = ""
    history: tuple[FillStage, ...] = ()


@dataclass(frozen=True, slots=True)
class BufferWriter:
    """Something that writes bytes which a result ends up with. `kind` is "fill", "copy", "update",
    "dispatch" (it overwrites) or "accumulation" (it reads what is there, then writes); `what` says it in
    words, with what a copy's source was filled with."""

    kind: str
    form: str
    when: str
    offset_bytes: int | None
    length_bytes: int | None
    location: SourceLocation
    what: str


@dataclass(frozen=True, slots=True)
class OutputHistory:
    """The answer to "where is this result being filled or zeroed?", and what it rests on, in order."""

    function: str
    result: int
    buffer: str
    sentence: str
    writers: tuple[BufferWriter, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """All that the HAL IR does to buffers, besides dispatches, and what became of the source's fills.

    `outputs` has one entry per result; `sharing` are lines about memory that has two uses: bindings that
    overlap, results in one buffer, arguments that are written, transient bytes written twice.
    """

    operations: tuple[BufferOperation, ...]
    fates: tuple[FillFate, ...]
    dispatches: tuple[str, ...]
    outputs: tuple[OutputHistory, ...] = ()
    sharing: tuple[str, ...] = ()

    @property
    def fills(self) -> tuple[BufferOperation, ...]:
        return tuple(op for op in self.operations if op.kind == "fill")


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """One question about a program with two answers; an answer that is not there is None."""

    question: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class InspectionDifference:
    """Two inspections compared: two flag sets, files, or compiler versions, named by `before`, `after`."""

    before: str
    after: str
    changes: tuple[AnswerChange, ...]
    questions: int
