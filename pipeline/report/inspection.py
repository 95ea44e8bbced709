"""What the HAL IR does to buffers, as a table, and what became of each fill of the source."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from ..verdict import BufferOperation, FillFate, Inspection
from .lines import Cell, aligned, indented, titled
from .text import byte_range, count

_HEADER = ("what", "target", "bytes", "value", "when", "function", "where", "op")


def inspection_lines(inspection: Inspection) -> Iterator[Text]:
    """All of it: `aiepipe inspect`."""
    yield Text(fills_line(inspection), style="bold")
    if inspection.operations:
        rows: list[list[Cell]] = [[Text(name, style="dim") for name in _HEADER]]
        rows += [_row(op) for op in inspection.operations]
        yield from indented(aligned(rows))
    if inspection.fates:
        yield from titled("fills of the source", map(_fate, inspection.fates))
    if inspection.dispatches:
        title = count(len(inspection.dispatches), "dispatch", "dispatches")
        yield from titled(title, map(Text, inspection.dispatches))


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
    value = "a run-time value" if fate.value is None else f"{fate.value} : {fate.element}"
    return Text(f"{fate.location} {fate.source_op} of {value} in {fate.function}: {fate.fate}")
