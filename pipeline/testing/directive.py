"""The directives of a test block: one row per name, with what it takes and how it changes the case.

docs/tests-in-mlir.md is the table for people; a test holds the two together.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import UsageError
from ..verify.tolerance import parse_tolerance
from ..verify.values import ValueSpec, parse_value
from ..xrt.policy import named
from .case import ExpectedError, ExpectedFills

STAGES = ("frontend", "backend", "reference", "run")
TARGETS = ("npu1", "npu4")
FILL_KINDS = ("fill_buffer", "queue.fill", "builtin")
_HAZARD = re.compile(r"S[0-9]{3}")
_KIND = re.compile(r"(\S+?)(?:\s+([0-9]+))?")


@dataclass(slots=True)
class Draft:
    """A case while its block is read. `folder` is where the file lies; values may name files beside it."""

    folder: Path
    seen: set[str] = field(default_factory=set[str])
    function: str | None = None
    inputs: list[str] = field(default_factory=list[str])
    outputs: list[str] = field(default_factory=list[str])
    seed: int = 1
    tolerance: str | None = None
    fills: ExpectedFills | None = None
    fates: list[str] = field(default_factory=list[str])
    hazards: tuple[str, ...] | None = None
    errors: list[ExpectedError] = field(default_factory=list[ExpectedError])
    backends: tuple[str, ...] = ()
    target: str | None = None
    repeat: int | None = None
    policy: str = "default"
    coherency_seed: int = 0
    flags: list[str] = field(default_factory=list[str])
    timeout_s: float | None = None
    xfail: str | None = None
    runs: bool = True


@dataclass(frozen=True, slots=True)
class Directive:
    """`take` stores the text in the draft or raises UsageError; `many`: the directive may be repeated."""

    take: Callable[[Draft, str], None]
    many: bool = False


def apply(draft: Draft, name: str, text: str) -> None:
    """One line of a block. Raises UsageError for an unknown name, a bad value, a second one of its kind."""
    known = DIRECTIVES.get(name)
    if known is None:
        near = difflib.get_close_matches(name, DIRECTIVES, 1)
        raise UsageError(
            f"there is no directive {name!r}",
            remedy=(f"did you mean {near[0]!r}? " if near else "")
            + f"known: {', '.join(DIRECTIVES)}; an empty comment line ends the block",
        )
    if name in draft.seen and not known.many:
        raise UsageError(f"a second {name!r} in one block")
    draft.seen.add(name)
    if not text:
        raise UsageError(f"{name!r} needs a value")
    known.take(draft, text)


def is_type(text: str) -> bool:
    """Whether the text is a type alone, as in iree-amd-aie's headers."""
    try:
        spec = parse_value(text)
    except UsageError:
        return False
    return spec.type is not None and spec.elements is None and spec.file is None and "=" not in text


# --------------------------------------------------------------------------- what each one does


def _function(draft: Draft, text: str) -> None:
    draft.function = text.removeprefix("@").strip('"')


def _input(draft: Draft, text: str) -> None:
    draft.inputs.append(text if is_type(text) else _value(draft, text))


def _output(draft: Draft, text: str) -> None:
    draft.outputs.append(f"{text}=numpy" if is_type(text) else _value(draft, text))


def _value(draft: Draft, text: str) -> str:
    """The value, checked for syntax; a file in it is looked for beside the MLIR file."""
    spec: ValueSpec = parse_value(text)
    if spec.file is None:
        return text
    path = draft.folder / spec.file
    return f"@{path}" if spec.type is None else f"{spec.type}=@{path}"


def _seed(draft: Draft, text: str) -> None:
    draft.seed = _number(text, least=0)


def _tolerance(draft: Draft, text: str) -> None:
    parse_tolerance(text)
    draft.tolerance = text


def _fills(draft: Draft, text: str) -> None:
    if text == "none" or (text.isascii() and text.isdigit()):
        draft.fills = ExpectedFills(0 if text == "none" else int(text))
        return
    kinds: list[tuple[str, int]] = []
    for part in text.split(","):
        match = _KIND.fullmatch(part.strip())
        kind = "" if match is None else match.group(1)
        if match is None or not (kind in FILL_KINDS or kind.startswith(("hal.", "__builtin"))):
            raise UsageError(
                f"{part.strip()!r} is no kind of fill",
                remedy=f"none, a number, or kinds with numbers: {', '.join(FILL_KINDS)}, or the op's name",
            )
        kinds.append((kind, int(match.group(2) or 1)))
    draft.fills = ExpectedFills(sum(number for _, number in kinds), tuple(kinds))


def _fate(draft: Draft, text: str) -> None:
    draft.fates.append(text)


def _hazards(draft: Draft, text: str) -> None:
    ids = () if text == "none" else tuple(part.strip() for part in text.split(","))
    for id_ in ids:
        if not _HAZARD.fullmatch(id_):
            raise UsageError(f"{id_!r} is no hazard", remedy="none, or ids as in S002, S005")
    draft.hazards = tuple(sorted(set(ids)))


def _error(draft: Draft, text: str) -> None:
    stage, colon, rest = text.partition(":")
    if colon and stage in STAGES and rest.strip():
        draft.errors.append(ExpectedError(rest.strip(), stage))
    else:
        draft.errors.append(ExpectedError(text))


def _backend(draft: Draft, text: str) -> None:
    draft.backends = tuple(part.strip() for part in text.split(","))
    if not all(draft.backends):
        raise UsageError("an empty backend name")


def _target(draft: Draft, text: str) -> None:
    if text not in TARGETS:
        raise UsageError(f"there is no target {text!r}", remedy=f"one of: {', '.join(TARGETS)}")
    draft.target = text


def _repeat(draft: Draft, text: str) -> None:
    draft.repeat = _number(text, least=1)


def _policy(draft: Draft, text: str) -> None:
    draft.policy = named(text).name


def _coherency_seed(draft: Draft, text: str) -> None:
    draft.coherency_seed = _number(text, least=0)


def _flags(draft: Draft, text: str) -> None:
    try:
        draft.flags += shlex.split(text)
    except ValueError as fault:
        raise UsageError(f"cannot split the flags: {fault}") from fault


def _timeout(draft: Draft, text: str) -> None:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"{text!r} is no number of seconds")
    draft.timeout_s = seconds


def _xfail(draft: Draft, text: str) -> None:
    draft.xfail = text


def _run(draft: Draft, text: str) -> None:
    if text not in ("yes", "no"):
        raise UsageError(f"run: {text!r}", remedy="yes, or no: the case is about the IR alone")
    draft.runs = text == "yes"


def _number(text: str, *, least: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19) or int(text) < least:
        raise UsageError(f"{text!r} is no whole number from {least}")
    return int(text)


DIRECTIVES: Mapping[str, Directive] = {
    "function": Directive(_function),
    "input": Directive(_input, many=True),
    "output": Directive(_output, many=True),
    "seed": Directive(_seed),
    "tolerance": Directive(_tolerance),
    "fills": Directive(_fills),
    "fate": Directive(_fate, many=True),
    "hazards": Directive(_hazards),
    "error": Directive(_error, many=True),
    "backend": Directive(_backend),
    "target": Directive(_target),
    "repeat": Directive(_repeat),
    "sync-policy": Directive(_policy),
    "coherency-seed": Directive(_coherency_seed),
    "flags": Directive(_flags, many=True),
    "timeout": Directive(_timeout),
    "xfail": Directive(_xfail),
    "run": Directive(_run),
}
