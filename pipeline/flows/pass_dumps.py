"""IR after each pass that changed it, from two compilations: the first pass that does something else.

Source of the form: MLIR's IR printer (--mlir-print-ir-after-all --mlir-print-ir-after-change).
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

DUMP_FLAGS = (
    "--mlir-print-ir-after-all",
    "--mlir-print-ir-after-change",
    "--mlir-disable-threading",
    "--mlir-elide-elementsattrs-if-larger=16",
)
LARGEST_DUMP_BYTES = 64 << 20
_HEAD = re.compile(r"^// -----// IR Dump After (?P<name>\S+)[^\n]*//----- //$", re.MULTILINE)
_MOST_LINES = 20_000


@dataclass(frozen=True, slots=True)
class PassOutput:
    """What a pass left. `name` has the count of its runs where it ran before: "Canonicalizer#3"."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class PassDifference:
    """The first pass with another output, the one before it that is the same, and the diff."""

    name: str
    after: str | None
    diff: str


def split_dump(text: str) -> list[PassOutput]:
    """The sections of a dump, in order."""
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads), len(text)][1:]
    counts: Counter[str] = Counter()
    found: list[PassOutput] = []
    for head, end in zip(heads, ends, strict=True):
        counts[head["name"]] += 1
        number = counts[head["name"]]
        name = head["name"] if number == 1 else f"{head['name']}#{number}"
        found.append(PassOutput(name, text[head.end() : end].strip()))
    return found


def first_difference(before: Sequence[PassOutput], after: Sequence[PassOutput]) -> PassDifference | None:
    """Where two compilations part: a pass that ran in one only, or left something else."""
    last = None
    for old, new in zip(before, after, strict=False):
        if old.name != new.name:
            return PassDifference(f"{old.name} in the first, {new.name} in the second", last, "")
        if old.text != new.text:
            return PassDifference(old.name, last, _diff(old, new))
        last = old.name
    if bool(before) != bool(after):
        return PassDifference("none, for one side failed before its first pass", None, "")
    if len(before) != len(after):
        longer = before if len(before) > len(after) else after
        return PassDifference(f"{longer[min(len(before), len(after))].name} in one only", last, "")
    return None


def _diff(old: PassOutput, new: PassOutput) -> str:
    lines = difflib.unified_diff(
        old.text.splitlines()[:_MOST_LINES],
        new.text.splitlines()[:_MOST_LINES],
        f"good/{old.name}",
        f"bad/{new.name}",
        lineterm="",
    )
    return "\n".join(lines) + "\n"
