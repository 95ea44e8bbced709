"""A command's story in one screenful: stages, fills, buffers and syncs, results, verdict.

`print_report` is the whole face of this module; rich is known only here and beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.text import Text

from ..verdict import (
    Agreement,
    BuildRunReport,
    DeviceReport,
    EventKind,
    FileRecord,
    HostEvent,
    StageReport,
)
from .array_findings import array_lines, cycle_lines
from .hazards import hazard_lines
from .inspection import difference_lines, fill_lines, inspection_lines
from .lines import aligned, indented, print_lines, titled
from .mismatch import comparison_lines, diagnosis_lines, how, statistics_lines, verdict_style
from .text import byte_range, duration

_FILES_SHOWN = 3
_EVENTS_SHOWN = 12
_HASH_DIGITS = 12


def print_report(report: BuildRunReport, file: TextIO, *, verbose: bool = False) -> None:
    """Prints the report of any command. `verbose` adds details of the stages and the whole run log."""
    print_lines(report_lines(report, verbose=verbose), file)


def report_lines(report: BuildRunReport, *, verbose: bool = False) -> Iterator[Text]:
    """The lines of `print_report`."""
    yield _head(report)
    if report.stages:
        yield from titled("stages", _stages(report.stages, verbose=verbose))
    if report.inspection is not None:
        if report.command == "inspect":
            yield from inspection_lines(report.inspection, phases=verbose)
        else:
            yield from titled("fills", fill_lines(report.inspection))
    if report.difference is not None:
        yield from difference_lines(report.difference)
    yield from _run(report, verbose=verbose)
    if report.statistics is not None:
        yield from titled("repeats", statistics_lines(report.statistics))
    if report.comparisons:
        yield from titled("results", (line for c in report.comparisons for line in comparison_lines(c)))
    if verbose and report.accumulations:
        sums = (f"{a.location} {a.op}: sums of {a.length} terms, {a.how}" for a in report.accumulations)
        yield from titled("reference", map(Text, sums))
    if report.findings:
        yield from titled("sync hazards", hazard_lines(report.findings, verbose=verbose))
    if report.array_findings:
        yield from titled("array", array_lines(report.array_findings))
    if report.diagnoses:
        yield from titled("diagnosis", diagnosis_lines(report.diagnoses))
    if verbose and report.versions:
        yield from titled("versions", [Text(", ".join(f"{k} {v}" for k, v in report.versions.items()))])
    yield from (Text(f"warning: {warning}", style="yellow") for warning in report.warnings)
    yield from _end(report)


def _head(report: BuildRunReport) -> Text:
    head = Text(f"aiepipe {report.command}", style="bold")
    head.append(f"  {report.file}", style="default")
    if report.function is not None:
        head.append(f"  @{report.function}", style="default")
    return head


def _stages(stages: Sequence[StageReport], *, verbose: bool) -> Iterator[Text]:
    heads = [*aligned([(s.name, duration(s.seconds), s.note) for s in stages], right=[1])]
    indent = max(len(stage.name) for stage in stages) + 2
    for stage, head in zip(stages, heads, strict=True):
        yield head
        if stage.files and not verbose:
            yield from indented([_file_names(stage.files)], indent)
        if verbose:
            rows = [
                (f.path, f"{f.size_bytes:,} B", Text(f"sha256 {f.sha256[:_HASH_DIGITS]}", style="dim"))
                for f in stage.files
            ]
            yield from indented(aligned(rows, right=[1]), indent)
            yield from indented((Text(detail, style="dim") for detail in stage.details), indent)


def _file_names(files: Sequence[FileRecord]) -> Text:
    """What a stage left, in one line; -v has the sizes and hashes."""
    names = [f.path.rpartition("/")[2] for f in files]
    shown = sorted(names, key=_telling)[:_FILES_SHOWN]
    rest = f", ... (all {len(names)}: -v)" if len(shown) < len(names) else ""
    return Text(", ".join(shown) + rest)


def _telling(name: str) -> int:
    """What a user looks for comes first."""
    order = (".xclbin", ".npu_inst.txt", ".json", ".s", ".elf", ".pdi")
    return next((i for i, ending in enumerate(order) if name.endswith(ending)), len(order))


def _run(report: BuildRunReport, *, verbose: bool) -> Iterator[Text]:
    if report.inputs:
        yield from titled("inputs", aligned([(i.name, str(i.type), i.origin) for i in report.inputs]))
    if report.buffers:
        rows = [
            (
                b.name,
                "" if b.role == b.name else b.role,
                "" if b.type is None else str(b.type),
                f"{b.size_bytes:,} B",
            )
            for b in report.buffers
        ]
        yield from titled("buffers", aligned(rows, right=[3]))
    if report.events:
        title = "syncs" if report.policy is None else f"syncs, policy {report.policy}"
        yield from titled(title, _events(report.events, verbose=verbose))
    if report.cycles is not None:
        yield Text(f"about {report.cycles:,} cycles of the array")
    if verbose and report.tile_cycles:
        yield from titled("cycles by tile", cycle_lines(report.tile_cycles))


def _events(events: Sequence[HostEvent], *, verbose: bool) -> Iterator[Text]:
    shown = events if verbose else events[:_EVENTS_SHOWN]
    rows: list[tuple[str, ...]] = []
    for event in shown:
        ranged = event.kind not in (EventKind.START, EventKind.WAIT)
        place = byte_range(event.offset_bytes, event.length_bytes) if ranged else ""
        rows.append((event.kind.value, event.buffer, place, event.note))
    yield from aligned(rows)
    if len(shown) < len(events):
        yield Text(f"... and {len(events) - len(shown)} more events (-v)", style="dim")


# --------------------------------------------------------------------------- how it ended


def _end(report: BuildRunReport) -> Iterator[Text]:
    if report.output_directory is not None:
        yield Text(f"files are in {report.output_directory}")
    if report.seeds:
        yield Text(f"seeds: {', '.join(f'{name} {value}' for name, value in report.seeds.items())}")
    if report.repeat_with:
        yield Text(f"again: {report.repeat_with}")
    if report.agreement is not None:
        line = Text(report.agreement.value, style=verdict_style(report.agreement))
        line.append(f" on {_device(report.device)}{_fallback(report)}: {_why(report)}", style="default")
        yield line
    elif report.device is not None:
        yield Text(f"ran on {_device(report.device)}{_fallback(report)}; nothing was given to compare with")


def _device(device: DeviceReport | None) -> str:
    if device is None:
        return "no device"
    detail = f", {device.detail}" if device.detail else ""
    return f"the {device.kind} {device.name}{detail}"


def _fallback(report: BuildRunReport) -> str:
    """What the device did not do: a verdict must not say more than was tried."""
    done = sum(dispatch.fallback is not None for dispatch in report.dispatches)
    count = len(report.dispatches)
    return f", {done} of {count} dispatch{'' if count == 1 else 'es'} on the CPU instead" if done else ""


def _why(report: BuildRunReport) -> str:
    if report.agreement is Agreement.PASS:
        ways = dict.fromkeys(how(c) for c in report.comparisons)
        return f"all results are right, {'; '.join(ways)}"
    if report.statistics is not None and report.statistics.wrong_runs:
        return f"{report.statistics.wrong_runs:,} of {report.statistics.runs:,} runs are wrong"
    wrong = [(c.name, c.mismatch.count) for c in report.comparisons if c.mismatch is not None]
    return ", ".join(f"{name} has {number:,} wrong elements" for name, number in wrong)
