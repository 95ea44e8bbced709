"""The first pass that the two sides of a transition do differently; the IR of both can be kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..verdict import Transition
from .pass_dumps import LARGEST_DUMP_BYTES, first_difference, split_dump
from .program_directory import write_file


def with_passes(change: Transition, dumps: Sequence[str], keep: str | None) -> Transition:
    """The transition with the first pass that differs; IR and diff are kept in the folder
    `keep`."""
    difference = first_difference(*(split_dump(dump) for dump in dumps))
    files: list[str] = []
    if keep is not None:
        folder = Path(keep)
        trials = (change.before, change.after)
        kept = [(f"{_stem(t.name)}.passes.mlir", dump) for t, dump in zip(trials, dumps, strict=True)]
        if difference is not None and difference.diff:
            kept.append((f"{_stem(change.before.name)}-{_stem(change.after.name)}.diff", difference.diff))
        for name, text in kept:
            write_file(folder / name, text.encode()[:LARGEST_DUMP_BYTES])
            files.append(str(folder / name))
    name = None if difference is None else difference.name
    return replace(change, first_pass=name, files=tuple(files))


def _stem(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).strip("_")[:80] or "none"
