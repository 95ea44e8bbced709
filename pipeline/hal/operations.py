"""From what happens to buffers to `BufferOperation`s: targets with names, patterns with values.

The element type of a fill is that of the source op it comes from (by location), else of the result, argument
or later copy that its target ends in, else of a dispatch's binding there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..program import SourceLocation, SourceModule
from ..verdict import BufferOperation
from .builtins import BuiltinReader, is_builtin_fill
from .decoding import element_value
from .happenings import DispatchRun, Happening, Place, Touch, one_by_one
from .interpretation import HalReader

# ops of the source that become fills; their result's element type is the fill's
FILLING_OPS = frozenset({"linalg.fill", "arith.constant", "tensor.pad", "tensor.splat", "flow.tensor.splat"})


@dataclass(frozen=True, slots=True)
class Located:
    """An operation with all the places of the source that it comes from."""

    operation: BufferOperation
    places: frozenset[SourceLocation]


def buffer_operations(reader: HalReader, source: SourceModule, builtins: BuiltinReader) -> list[Located]:
    """All fills, copies and updates, in the order in which they happen."""
    namer = _Namer(reader, source)
    found: list[Located] = []
    for happening in reader.happenings:
        what = happening.what
        if isinstance(what, Touch):
            found.append(namer.touch(happening, what))
        elif is_builtin_fill(what.name):
            found.append(namer.builtin(happening, what, builtins))
    return found


class _Namer:
    def __init__(self, reader: HalReader, source: SourceModule) -> None:
        self._reader = reader
        self._functions = {function.name: function for function in source.functions}
        self._elements: dict[SourceLocation, str] = {
            op.location: op.results[0].type.element
            for function in source.functions
            for op in function.every_op
            if op.name in FILLING_OPS and op.results
        }

    def touch(self, happening: Happening, what: Touch) -> Located:
        """A fill, copy or update op."""
        pattern = None if what.pattern is None else what.pattern.to_bytes()
        element = self._element(happening, what.target, what.places) if what.kind == "fill" else None
        operation = BufferOperation(
            form=what.form,
            kind=what.kind,
            function=happening.function,
            target=self._target(happening, what.target),
            when=happening.when,
            offset_bytes=what.target.offset_bytes,
            length_bytes=what.target.length_bytes,
            location=what.location,
            pattern=pattern,
            pattern_type=what.pattern_type,
            element=element,
            value=None if pattern is None or element is None else element_value(pattern, element),
        )
        return Located(operation, what.places)

    def builtin(self, happening: Happening, what: DispatchRun, builtins: BuiltinReader) -> Located:
        """A builtin dispatch that fills its only binding."""
        fill = builtins.read(what.name, what.constants)
        target = what.bindings[0]
        if fill.offset_bytes is not None:
            start = None if target.offset_bytes is None else target.offset_bytes + fill.offset_bytes
            target = replace(target, offset_bytes=start, length_bytes=fill.length_bytes)
        element = self._element(happening, target, what.places) or fill.pattern_type
        pattern = fill.pattern
        operation = BufferOperation(
            form=what.name,
            kind="fill",
            function=happening.function,
            target=self._target(happening, target),
            when=happening.when,
            offset_bytes=target.offset_bytes,
            length_bytes=target.length_bytes,
            location=what.location,
            pattern=pattern,
            pattern_type=fill.pattern_type,
            element=element,
            value=None if pattern is None or element is None else element_value(pattern, element),
        )
        return Located(operation, what.places)

    def _target(self, happening: Happening, place: Place) -> str:
        parts = one_by_one(place)
        if len(parts) > 1:
            return " or ".join(dict.fromkeys(self._target(happening, part) for part in parts))
        buffer = place.buffer
        if buffer is None:
            return "unknown" if place.slot is None else f"binding {place.slot}"
        if buffer.argument is not None:
            return f"argument {buffer.argument}"
        if buffer.global_name is not None:
            return f"global @{buffer.global_name}"
        indices = self._results(happening.function, place)
        if not indices:
            return "transient"
        return f"result{'s' if len(indices) > 1 else ''} {', '.join(map(str, indices))}"

    def _results(self, function: str, place: Place) -> list[int]:
        found = [
            returned.index
            for returned in self._reader.returned
            if returned.function == function and overlap(place, returned.place)
        ]
        return list(dict.fromkeys(found))

    def _element(self, happening: Happening, place: Place, places: frozenset[SourceLocation]) -> str | None:
        by_place = {self._elements[p] for p in places if p in self._elements}
        if len(by_place) == 1:
            return by_place.pop()
        found = self._element_of(happening.function, place)
        if found is not None:
            return found
        for other in self._reader.happenings:
            what = other.what
            if isinstance(what, Touch) and what.source is not None and overlap(what.source, place):
                found = self._element_of(other.function, what.target)
                if found is not None:
                    return found
        return None

    def _element_of(self, name: str, place: Place) -> str | None:
        """The element type of the result or argument that a range is in."""
        function = self._functions.get(name)
        if function is None or place.buffer is None:
            return None
        if place.buffer.argument is not None:
            return function.arguments[place.buffer.argument].type.element
        elements = {function.returns[i].type.element for i in self._results(name, place)}
        return elements.pop() if len(elements) == 1 else None


def overlap(a: Place, b: Place) -> bool:
    """Whether two ranges share a byte, or may, as far as is known."""
    return any(_overlap(x, y) for x in one_by_one(a) for y in one_by_one(b))


def _overlap(a: Place, b: Place) -> bool:
    if a.buffer is None or a.buffer is not b.buffer:
        return False
    if a.offset_bytes is None or b.offset_bytes is None:
        return True
    if a.length_bytes is not None and a.offset_bytes + a.length_bytes <= b.offset_bytes:
        return False
    return b.length_bytes is None or b.offset_bytes + b.length_bytes > a.offset_bytes
