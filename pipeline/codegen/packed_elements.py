"""Elements of less than a byte (i4, i2), of which memory has several in each byte, the low bits first.

In the core's memory each takes a byte, extended by its sign. A stage unpacks what is loaded, another packs
what is stored; both take a tensor's last dimension as a whole.
"""

from __future__ import annotations

from dataclasses import replace

from .. import dtypes
from ..program import AffineResult, ScalarBody, ScalarOp, SourceLocation
from .expressions.bodies import body_graph
from .problem import View
from .stages import Map, Stage, Use

_BITS_OF_A_BYTE = 8


def per_byte(element: str) -> int:
    """How many elements of this type are in a byte of memory; 1 where it has bytes of its own."""
    bits = dtypes.storage_bits(element) if dtypes.is_known(element) else _BITS_OF_A_BYTE
    return _BITS_OF_A_BYTE // bits if bits < _BITS_OF_A_BYTE else 1


def one_byte(data: bytes, element: str) -> bytes:
    """The bytes of one element as it stands in the core's memory."""
    if per_byte(element) == 1:
        return data
    bits = dtypes.storage_bits(element)
    value = data[0] & ((1 << bits) - 1)
    return (value - (value >> (bits - 1) << bits)).to_bytes(1, "little", signed=True)


def bytes_view(view: View) -> View | None:
    """The bytes that have a whole packed tensor; None where a row does not begin with one."""
    count = per_byte(view.element)
    if not view.shape or view.shape[-1] % count or view.base or not view.contiguous:
        return None
    shape = (*view.shape[:-1], view.shape[-1] // count)
    strides = tuple(stride // count for stride in view.strides[:-1])
    return replace(view, element="i8", element_bytes=1, shape=shape, strides=(*strides, 1))


def _places(count: int, loops: int, part: int = 0) -> Map:
    """The map (d0, ..., dn) -> (d0, ..., count * dn + part), of `loops` loops."""
    units = [tuple(int(i == d) for i in range(loops)) for d in range(loops)]
    return (
        *(AffineResult(unit) for unit in units[:-1]),
        AffineResult(tuple(count * c for c in units[-1]), part),
    )


def unpacking(
    location: SourceLocation, element: str, shape: tuple[int, ...], source: int, target: int
) -> Stage:
    """The tensor `target` of this type and shape from its bytes: one more loop, over a byte's elements."""
    count, loops = per_byte(element), len(shape) + 1
    ops = (
        ScalarOp("linalg.index", (), "index", {"dim": loops - 1}),  # 2
        ScalarOp("arith.index_cast", (2,), "i32"),
        ScalarOp("arith.constant", (), "i32", {"value": dtypes.storage_bits(element).to_bytes(4, "little")}),
        ScalarOp("arith.muli", (3, 4), "i32"),
        ScalarOp("arith.extui", (0,), "i32"),  # 6
        ScalarOp("arith.shrui", (6, 5), "i32"),
        ScalarOp("arith.trunci", (7,), element),
    )
    *outer, last = (AffineResult((*index.coefficients, 0)) for index in _places(1, loops - 1))
    within = AffineResult((*(count * c for c in last.coefficients[:-1]), 1))
    return Stage(
        f"unpack {element}",
        location,
        (*shape[:-1], shape[-1] // count, count),
        (False,) * loops,
        (Use(source, (*outer, last)),),
        (None,),
        (Use(target, (*outer, within)),),
        body_graph(ScalarBody(("i8", element), ops, (8,))),
    )


def packing(
    location: SourceLocation, element: str, shape: tuple[int, ...], source: int, target: int
) -> Stage:
    """The bytes `target` of the tensor `source` of this type and shape."""
    count, loops = per_byte(element), len(shape)
    bits, ops = dtypes.storage_bits(element), list[ScalarOp]()

    def emit(name: str, operands: tuple[int, ...], result: str, data: int | None = None) -> int:
        attributes = {} if data is None else {"value": data.to_bytes(4, "little")}
        ops.append(ScalarOp(name, operands, result, attributes))
        return count + len(ops)

    byte = emit("arith.extui", (0,), "i32")
    for part in range(1, count):
        wide = emit("arith.extui", (part,), "i32")
        moved = emit("arith.shli", (wide, emit("arith.constant", (), "i32", part * bits)), "i32")
        byte = emit("arith.ori", (byte, moved), "i32")
    last = emit("arith.trunci", (byte,), "i8")
    return Stage(
        f"pack {element}",
        location,
        (*shape[:-1], shape[-1] // count),
        (False,) * loops,
        tuple(Use(source, _places(count, loops, part)) for part in range(count)),
        (None,),
        (Use(target, _places(1, loops)),),
        body_graph(ScalarBody((element,) * count + ("i8",), tuple(ops), (last,))),
    )
