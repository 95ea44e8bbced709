"""IREE's builtin dispatches that fill memory with patterns of 64 bits.

Their operands (value, offset, count as 32-bit words) are folded and reordered per program, so they are put
into the body as it was before code generation, and the body's own fill is read.
Source: iree/compiler/Dialect/Stream/Builtins/{splat,fill}_i64.mlir.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..frontend import mlir
from ..frontend.arithmetic import Number
from ..frontend.constants import scalar
from ..frontend.dispatches import DispatchTable

_PREFIXES = ("__builtin_splat", "__builtin_fill")


@dataclass(frozen=True, slots=True)
class BuiltinFill:
    """What a builtin writes into its binding; None for what is not known at compile time."""

    offset_bytes: int | None
    length_bytes: int | None
    pattern: bytes | None
    pattern_type: str | None


def is_builtin_fill(name: str) -> bool:
    """Whether an entry point of that name fills memory."""
    return name.startswith(_PREFIXES)


class BuiltinReader:
    """Reads builtin fills out of the dispatches of one module."""

    def __init__(self, table: DispatchTable) -> None:
        self._table = table

    def read(self, name: str, constants: Sequence[Number | None]) -> BuiltinFill:
        """The fill that the entry point makes with these push constants."""
        found = self._table.read(name, constants)
        if found is None or len(found.subspans) != 1:
            # the size is not known; what it is filled with may be
            value = self._constant(name)
            if value is None:
                return BuiltinFill(None, None, None, None)
            return BuiltinFill(None, None, value.to_bytes(), value.element)
        (subspan,) = found.subspans
        values = {
            op.results[0].id: op.attributes.get("value")
            for op in found.dispatch.ops
            if op.name == "arith.constant"
        }
        pattern = None
        for op in found.dispatch.ops:
            if op.name == "linalg.fill":
                value = values.get(op.operands[0])
                pattern = value if isinstance(value, bytes) else None
        return BuiltinFill(subspan.offset_bytes, subspan.type.size_bytes, pattern, subspan.type.element)

    def _constant(self, name: str) -> Number | None:
        """The constant that the fill in the body of `name` writes."""
        for path, body in self._table.bodies.items():
            ops = mlir.descendants(body) if path[-1] == name else []
            filled = {op.operands[0] for op in ops if op.name == "linalg.fill"}
            for op in ops:
                if op.name == "arith.constant" and op.results[0] in filled:
                    type_ = str(op.results[0].type)
                    return scalar(op.attributes["value"], type_, mlir.context_of(op))
        return None
