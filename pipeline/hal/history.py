"""What stands for each fill of the source after IREE's phases, found by location, else by its users.

A pass that keeps an op keeps its location, and one that folds a fill into its user leaves the user's. So
after each phase, every op whose location has the fill's place in it is looked at: in a dispatch, on the
host's side, or in an initializer. Source: IREE's output at its phases flow and stream, 3.13.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..frontend import mlir
from ..frontend.location import locations
from ..frontend.mlir import Operation
from ..program import SourceFunction, SourceLocation, SourceModule, TensorOp
from ..verdict import FillStage
from .fates import GONE, source_fills, users_of

PHASES = ("flow", "stream")
"""After these, ops still have the forms that are worth telling; the last one, hal, is read by HalReader."""

History = Mapping[int, tuple[FillStage, ...]]
"""Stages by the identity of the source's op."""

_INPUT = "input"
_MOST_TEXT = 240
_LARGEST_ELEMENTS = 16

_EXECUTABLES = frozenset({"flow.executable", "stream.executable", "hal.executable"})
# what fills memory on the host's side of each phase
_HOST_FORMS = frozenset(
    {
        "flow.tensor.splat",
        "flow.tensor.constant",
        "flow.tensor.update",
        "stream.cmd.fill",
        "stream.cmd.copy",
        "stream.async.splat",
        "stream.async.fill",
        "stream.tensor.splat",
        "stream.tensor.fill",
        "util.global",
    }
)
_CONSTANT = "arith.constant"
_FILLING = frozenset(
    {_CONSTANT, *(form for form in _HOST_FORMS if form.endswith((".splat", ".fill", ".constant")))}
)
# in every dispatch, for every op: they carry the location of what they serve
_PLUMBING = ("hal.", "iree_tensor_ext.", "stream.", "flow.", "func.", "util.")
_BUILTIN = "@__builtin_"
_DISPATCHES = frozenset({"flow.dispatch", "stream.cmd.dispatch"})


@dataclass(frozen=True, slots=True)
class _Found:
    """An op of the IR that may stand for a fill. `fused` where it is inside a dispatch."""

    op: Operation
    place: str
    places: frozenset[SourceLocation]
    fused: bool


class HistoryRecorder:
    """Gathers the stages of all fills of one source, phase by phase."""

    def __init__(self, source: SourceModule, file: str) -> None:
        self._file = file
        self._fills = list(source_fills(source))
        self._stages: dict[int, list[FillStage]] = {
            id(op): [FillStage(_INPUT, op.name, f"@{function.name}", _source_text(source, op.location))]
            for function, op in self._fills
        }

    @property
    def history(self) -> History:
        """The stages so far."""
        return {key: tuple(stages) for key, stages in self._stages.items()}

    def record(self, phase: str, module: Operation) -> None:
        """Adds what stands for each fill in `module`, which is what a phase left."""
        if not self._fills:
            return
        found = list(_candidates(module, self._file))
        for function, op in self._fills:
            self._stages[id(op)] += _stages(phase, op, function, found)


def _stages(phase: str, op: TensorOp, function: SourceFunction, found: list[_Found]) -> Iterator[FillStage]:
    at_home = [item for item in found if op.location in item.places]
    # a fill op and the copy of the same pad both have its place; the fill tells
    chosen = [item for item in at_home if item.fused or item.op.name in _FILLING] or at_home
    sure = bool(chosen)
    if not chosen:
        users = {user.location for user in users_of(op, function)}
        chosen = [item for item in found if users & item.places and (item.fused or item.op.name in _FILLING)]
    seen: set[tuple[str, str]] = set()
    for item in chosen:
        form = item.op.name
        if (form, item.place) not in seen:
            seen.add((form, item.place))
            alike = [other for other in chosen if (other.op.name, other.place) == (form, item.place)]
            # of several that use the fill, none is the one
            text = _text(item.op) if sure or len(alike) == 1 else ""
            yield FillStage(phase, form, item.place, text, sure)
    if not chosen:
        yield FillStage(phase, GONE, "")


def _candidates(module: Operation, file: str) -> Iterator[_Found]:
    for outer in mlir.children(module):
        if outer.name in _EXECUTABLES:
            yield from _fused(outer, file)
        elif outer.name in ("util.func", "util.initializer"):
            place = "start-up" if outer.name == "util.initializer" else f"@{mlir.string(outer, 'sym_name')}"
            for op in mlir.descendants(outer):
                if op.name in _HOST_FORMS or _is_builtin(op) or _is_tensor_constant(op):
                    yield _Found(op, place, frozenset(locations(op.location, file)), fused=False)


def _fused(executable: Operation, file: str) -> Iterator[_Found]:
    name = ""
    for op in mlir.descendants(executable):
        if op.name == "func.func":
            name = mlir.string(op, "sym_name")
        elif name and not op.name.startswith(_PLUMBING):
            yield _Found(op, f"dispatch {name}", frozenset(locations(op.location, file)), fused=True)


def _is_builtin(op: Operation) -> bool:
    return op.name in _DISPATCHES and _BUILTIN in str(op.attributes["entry_points"])


def _is_tensor_constant(op: Operation) -> bool:
    """A constant that IREE has left as it was."""
    return op.name == _CONSTANT and mlir.shaped(op.results[0].type) is not None


def _text(op: Operation) -> str:
    text = " ".join(mlir.assembly(op, largest_elements=_LARGEST_ELEMENTS).split())
    return text if len(text) <= _MOST_TEXT else text[:_MOST_TEXT] + " ..."


def _source_text(source: SourceModule, location: SourceLocation) -> str:
    lines = source.text.splitlines()
    return lines[location.line - 1].strip()[:_MOST_TEXT] if 0 < location.line <= len(lines) else ""
