"""In-place dispatches whose inputs would be overwritten while they are still read.

IREE binds one buffer for an accumulator and for an operand of the same value (`A @ B + A` in place); its own
CPU backend refuses or miscompiles that in most releases. A kernel that writes a binding tile by tile may read
it only at the elements that it is about to write. Any other read gets a binding of its own, which the host
fills with a copy before the dispatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..program import TensorOp, Value

LOAD = "iree_tensor_ext.dispatch.tensor.load"
STORE = "iree_tensor_ext.dispatch.tensor.store"


@dataclass(frozen=True, slots=True)
class Split:
    """The ops with reads of `binding` moved to the new binding `copy`; `still_read` when others remain."""

    ops: tuple[TensorOp, ...]
    still_read: bool


def split_reads(ops: Sequence[TensorOp], binding: int, copy: int) -> Split | None:
    """Moves the unsafe reads of a read-write binding to binding `copy`; None where all reads are safe."""
    loads = [op for op in ops if op.name == LOAD and op.attributes.get("binding") == binding]
    loaded = {op.results[0].id for op in loads}
    if not loaded or not _read_elsewhere(ops, loaded):
        return None
    # an accumulator stays in place if that is safe on its own
    moved = _move(ops, loads, copy, keep_inits=True)
    if _read_elsewhere(moved, loaded):
        moved = _move(ops, loads, copy, keep_inits=False)
    used = {operand for op in moved for operand in op.operands}
    kept = tuple(op for op in moved if op.name != LOAD or op.results[0].id in used)
    return Split(kept, any(op.attributes.get("binding") == binding and op.name == LOAD for op in kept))


def _read_elsewhere(ops: Sequence[TensorOp], loaded: set[str]) -> bool:
    """Whether an op reads elements of the loaded values at other places than it writes them."""
    pointwise = set(loaded)
    for op in ops:
        read = [position for position, operand in enumerate(op.operands) if operand in pointwise]
        if not read or op.name == STORE:
            continue
        structured = op.structured
        if structured is None:
            # elementwise ops on tensors; all else (slices, pads, reshapes) moves elements
            if not op.name.startswith(("arith.", "math.")):
                return True
        else:
            init = structured.maps[structured.input_count]
            if any(p < structured.input_count and structured.maps[p] != init for p in read):
                return True
            reduces = "reduction" in structured.iterators
            if reduces and any(p < structured.input_count for p in read):
                return True
        pointwise.update(result.id for result in op.results)
    return False


def _move(
    ops: Sequence[TensorOp], loads: Sequence[TensorOp], copy: int, *, keep_inits: bool
) -> tuple[TensorOp, ...]:
    renamed = {load.results[0].id: f"{load.results[0].id}.copy" for load in loads}
    moved: list[TensorOp] = []
    for op in ops:
        if op in loads:
            (result,) = op.results
            twin = Value(renamed[result.id], result.type)
            moved += [op, replace(op, results=(twin,), attributes={**op.attributes, "binding": copy})]
            continue
        inputs = len(op.operands)
        if keep_inits and op.structured is not None:
            inputs = op.structured.input_count
        operands = tuple(
            renamed.get(operand, operand) if position < inputs else operand
            for position, operand in enumerate(op.operands)
        )
        moved.append(replace(op, operands=operands))
    return tuple(moved)
