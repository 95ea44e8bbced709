"""What the HAL IR does to buffers, as a table, and what became of each fill of the source."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from rich.text import Text

from ..verdict import BufferOperation, FillFate, FillStage, Inspection, InspectionDifference
from .lines import Cell, aligned, indented, table, titled
from .text import byte_range, count

_HEADER = ("what", "target", "bytes", "value", "when", "function", "where", "op")
_PHASES = ("flow", "stream", "hal")
_OUTPUTS_SHOWN = 4
_SAME = "the same"
_FILL_HEADER = ("source", "op", "value", "used as", *_PHASES)


def inspection_lines(inspection: Inspection, *, phases: bool = False) -> Iterator[Text]:
    """All of it: `aiepipe inspect`. With `phases`, the op that stands for each fill at each phase."""
    yield Text(fills_line(inspection), style="bold")
    if inspection.operations:
        rows: list[list[Cell]] = [[Text(name, style="dim") for name in _HEADER]]
        rows += [_row(op) for op in inspection.operations]
        yield from indented(aligned(rows))
    if inspection.fates:
        fills = table(_FILL_HEADER, [_fill_row(fate) for fate in inspection.fates])
        yield from titled("fills of the source, phase by phase", fills)
        if phases:
            for fate in inspection.fates:
                yield from titled(f"{fate.location} {fate.source_op}", _stages(fate))
    if inspection.dispatches:
        title = count(len(inspection.dispatches), "dispatch", "dispatches")
        yield from titled(title, map(Text, inspection.dispatches))
    if inspection.sharing:
        yield from titled("memory with two uses", map(Text, inspection.sharing))
    if inspection.outputs:
        yield from titled("where each result comes from", (Text(o.sentence) for o in inspection.outputs))


def difference_lines(difference: InspectionDifference) -> Iterator[Text]:
    """What `--diff` found."""
    title = f"{difference.before}  against  {difference.after}"
    if not difference.changes:
        same = f"no difference in {count(difference.questions, 'answer')}"
        yield from titled(title, [Text(same, style="green")])
        return
    yield from titled(title, _changes(difference))


def fills_line(inspection: Inspection) -> str:
    """ "no fill in the HAL IR", or how many and of which forms."""
    fills = inspection.fills
    if not fills:
        return "no fill in the HAL IR"
    forms = sorted({fill.form for fill in fills})
    return f"{count(len(fills), 'fill')} in the HAL IR: {', '.join(forms)}"


def fill_lines(inspection: Inspection) -> Iterator[Text]:
    """The fills in a line each, for a report that has more to tell."""
    yield Text(fills_line(inspection))
    for fill in inspection.fills:
        place = f"{byte_range(fill.offset_bytes, fill.length_bytes)} of {fill.target}"
        yield Text(f"{fill.form} {_value(fill)} over {place}, {fill.when}")
    yield from map(_fate, inspection.fates)
    yield from (Text(output.sentence) for output in inspection.outputs[:_OUTPUTS_SHOWN])


def stage_cell(fate: FillFate, phase: str) -> str:
    """What stands for a fill after a phase, short: "linalg.fill in dispatch x; flow.tensor.splat"."""
    parts = [_short(stage) for stage in fate.history if stage.phase == phase]
    return "; ".join(dict.fromkeys(parts))


def fill_value(fate: FillFate) -> str:
    """The value of a fill with its type."""
    return "a run-time value" if fate.value is None else f"{fate.value} : {fate.element}"


def _short(stage: FillStage) -> str:
    """Host ops by their name; where in a dispatch, that suffices; start-up is worth a word."""
    if stage.place.startswith("dispatch "):
        return f"in {stage.place}" + ("" if stage.sure else " (by its users)")
    where = " at start-up" if stage.place == "start-up" else ""
    return stage.form + where + ("" if stage.sure else " (by its users)")


def _changes(difference: InspectionDifference) -> Iterator[Text]:
    for change in difference.changes:
        yield Text(change.question, style="bold")
        yield Text(f"  - {change.before or 'not there'}", style="red")
        yield Text(f"  + {change.after or 'not there'}", style="green")
    yield Text(
        f"{count(len(difference.changes), 'answer differs', 'answers differ')} of {difference.questions}"
    )


def _fill_row(fate: FillFate) -> list[Cell]:
    # the file's name stands at the head of the report
    place = f"{fate.location.line}:{fate.location.column} @{fate.function}"
    stages = [stage_cell(fate, phase) for phase in _PHASES]
    # a long dispatch name once is enough
    stages[1:] = [_SAME if now == before else now for before, now in itertools.pairwise(stages)]
    return [place, fate.source_op, fill_value(fate), fate.role, *stages]


def _stages(fate: FillFate) -> Iterator[Text]:
    for stage in fate.history:
        line = Text(f"{stage.phase:7}", style="bold")
        what = stage.text or stage.form
        sure = "" if stage.sure else "  (found by the ops that use it)"
        line.append(f"{stage.place}: {what}{sure}" if stage.place else what, style="default")
        yield line


def _row(op: BufferOperation) -> list[Cell]:
    return [
        Text(op.kind, style="bold" if op.kind == "fill" else ""),
        op.target,
        byte_range(op.offset_bytes, op.length_bytes),
        _value(op),
        op.when,
        op.function,
        str(op.location),
        op.form,
    ]


def _value(op: BufferOperation) -> str:
    """The value in the tensor's type, and the pattern that IREE made of it where that looks different."""
    if op.value is None and op.pattern is None:
        return ""
    value = f"{op.value} : {op.element}" if op.value is not None else "unknown value"
    if op.pattern is None or op.pattern_type in (None, op.element):
        return value
    return f"{value} (pattern {op.pattern_type} 0x{op.pattern[::-1].hex().upper()})"


def _fate(fate: FillFate) -> Text:
    return Text(f"{fate.location} {fate.source_op} of {fill_value(fate)} in {fate.function}: {fate.fate}")
