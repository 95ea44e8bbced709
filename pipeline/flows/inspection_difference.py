"""Two inspections compared question by question: what became of each fill, and where each result comes from.

An inspection is taken as the plain data of its JSON report, so that one that another version of the
compiler gave, on another machine, compares like one made here. Fills are told apart by their place among
the fills of their function, not by line and column, which an edit moves.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ..errors import UsageError
from ..report.json_report import SCHEMA, plain
from ..verdict import AnswerChange, Inspection, InspectionDifference

Plain = Mapping[str, Any]


def compare_inspections(before: Plain, after: Plain, names: tuple[str, str]) -> InspectionDifference:
    """What changed from one to the other."""
    old, new = dict(_answers(before)), dict(_answers(after))
    questions = list(dict.fromkeys([*old, *new]))
    changes = tuple(
        AnswerChange(question, old.get(question), new.get(question))
        for question in questions
        if old.get(question) != new.get(question)
    )
    return InspectionDifference(*names, changes, len(questions))


def as_plain(inspection: Inspection) -> Plain:
    """An inspection as its JSON report has it."""
    return cast("Plain", plain(inspection))


def read_inspection(name: str, data: bytes) -> tuple[str, Plain]:
    """The inspection in a JSON report of `aiepipe inspect --json`, and what to call it.

    Raises UsageError where it is none.
    """
    try:
        document: Any = json.loads(data)
        inspection: Any = document["inspection"]
        if document["schema"] != SCHEMA or not isinstance(inspection, dict):
            raise ValueError("it is no report with an inspection")
        compiler: Any = document.get("versions", {}).get("iree-base-compiler", "")
        known = cast("Plain", inspection)
        dict(_answers(known))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise UsageError(
            f"{name} is no report of aiepipe inspect: {fault}",
            remedy="make it with `aiepipe inspect FILE --json > report.json`",
        ) from fault
    return f"{name}" + (f" (iree-base-compiler {compiler})" if compiler else ""), known


def _answers(inspection: Plain) -> Iterator[tuple[str, str]]:
    counts: Counter[str] = Counter()
    for fate in _rows(inspection, "fates"):
        function = str(fate["function"])
        counts[function] += 1
        fill = f"fill {counts[function]} of @{function}"
        yield f"{fill}, input", f"{fate['source_op']} of {fate['value']} : {fate['element']}"
        by_phase: dict[str, list[str]] = {}
        for stage in _rows(fate, "history"):
            if stage["phase"] != "input":
                where = f" in {stage['place']}" if stage["place"] else ""
                by_phase.setdefault(str(stage["phase"]), []).append(f"{stage['form']}{where}")
        for phase, forms in by_phase.items():
            yield f"{fill}, {phase}", "; ".join(forms)
        yield fill, str(fate["fate"])
    for output in _rows(inspection, "outputs"):
        # the sentence names places of the source, which an edit moves; what writes the result does not
        writers = [f"{w['kind']} by {w['form']} at {w['when']}" for w in _rows(output, "writers")]
        yield f"result {output['result']} of @{output['function']}", "; ".join(writers) or "nothing"
    kinds = Counter(f"{op['kind']} ({op['when']})" for op in _rows(inspection, "operations"))
    yield "fills, copies and updates", ", ".join(f"{n} {k}" for k, n in sorted(kinds.items())) or "none"
    yield "dispatches", ", ".join(map(str, cast("Sequence[object]", inspection["dispatches"]))) or "none"
    for line in cast("Sequence[object]", inspection.get("sharing", ())):
        yield f"shared memory: {line}", "yes"


def _rows(parent: Plain, name: str) -> Sequence[Plain]:
    return cast("Sequence[Plain]", parent.get(name, ()))
