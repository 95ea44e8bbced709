"""What to write instead of an op that cannot be lowered, by the op and the element types at fault."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remedy:
    """Applies to these ops (none: to all) where one of these element types (none: any) is at hand."""

    text: str
    ops: frozenset[str] = frozenset()
    elements: frozenset[str] = frozenset()

    def applies(self, op: str, elements: Collection[str]) -> bool:
        return (not self.ops or op in self.ops) and (
            not self.elements or not self.elements.isdisjoint(elements)
        )


_DIVISIONS = frozenset(
    f"arith.{name}" for name in ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
)
_GATHERS = frozenset({"tensor.extract", "linalg.gather", "tensor.gather"})

REMEDIES = (
    Remedy("compute in bf16 or f32: the chip has no f16", elements=frozenset({"f16"})),
    Remedy("compute in f32: the chip has no f64", elements=frozenset({"f64"})),
    Remedy(
        "load and store whole tensors whose rows are whole bytes, or pass them as i8",
        elements=frozenset({"i2", "i4"}),
    ),
    Remedy(
        "write it out: its maxima and sums are lowered, its exp is not", ops=frozenset({"linalg.softmax"})
    ),
    Remedy(
        "divide in i32 where the values fit, or shift by a power of two",
        ops=_DIVISIONS,
        elements=frozenset({"i64", "index"}),
    ),
    Remedy("gather on the host: places that are data are not lowered", ops=_GATHERS),
)


def remedies(op: str, elements: Collection[str]) -> tuple[str, ...]:
    """What helps against `op` on values of these types, if anything is known to."""
    return tuple(remedy.text for remedy in REMEDIES if remedy.applies(op, elements))
