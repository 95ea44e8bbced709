"""Constant attributes to bytes as IREE lays them out in a buffer.

MLIR holds elements narrower than a byte in a byte each; a buffer has i1 in a byte and packs i4 and i2, low
bits first (iree/compiler/Utils/ElementPackingUtils.cpp, and `dtypes.pack`).
"""

from __future__ import annotations

from typing import Any, cast

from .. import dtypes
from ..program import TensorType
from . import capi, mlir
from .arithmetic import Number, bit_width

_COMPOSITE = "#util.composite<"


def dense(handle: int, type_: TensorType) -> tuple[bytes, bool] | None:
    """Bytes of a dense attribute of this type in buffer layout, one element when it is a splat.

    None for an attribute that is neither dense elements nor a resource in the module.
    """
    bits = dtypes.storage_bits(type_.element)
    found = capi.dense_bytes(handle, type_.count, max(bits // 8, 1))
    if found is None:
        return None
    data, splat = found
    return (_packed(data, bits) if bits < 8 else data), splat


def whole(handle: int, type_: TensorType) -> bytes | None:
    """Like `dense`, with a splat written out over the whole tensor."""
    found = dense(handle, type_)
    if found is None:
        return None
    data, splat = found
    if not splat:
        return data
    bits = dtypes.storage_bits(type_.element)
    if bits >= 8:
        return data * type_.count
    code = data[0] & ((1 << bits) - 1)
    return _packed(bytes([code]) * type_.count, bits)


def scalar(attribute: mlir.Attribute, element: str, context: mlir.Context) -> Number | None:
    """The exact bits of an integer or float attribute; None for another type."""
    width = bit_width(element)
    if width is None:
        return None
    data = capi.scalar_bytes(attribute, context, -(-width // 8))
    return Number(int.from_bytes(data, "little") & ((1 << width) - 1), element)


def complex_scalar(attribute: mlir.Attribute, element: str, context: mlir.Context) -> bytes | None:
    """Bytes of a complex.constant: its real, then its imaginary part."""
    part = element.removeprefix("complex<").removesuffix(">")
    parts = [scalar(entry, part, context) for entry in mlir.elements(attribute)]
    if len(parts) != 2:
        return None
    return b"".join(p.to_bytes() for p in parts if p is not None)


def buffer(attribute: mlir.Attribute, context: mlir.Context) -> bytes | None:
    """Bytes of the value of a util.buffer.constant: dense elements, a composite of them, or a string.

    None for a form that is not read.
    """
    text = str(attribute)
    if text.startswith(_COMPOSITE):
        # its parts have no accessor; as an array attribute they have (but for the trailing comma)
        entries = text[text.index("[") + 1 : text.rindex("]")].rstrip().removesuffix(",")
        array = mlir.parse_attribute(f"[{entries}]", context)
        parts = [buffer(entry, context) for entry in mlir.elements(array)]
        known = [part for part in parts if part is not None]
        return b"".join(known) if len(known) == len(parts) else None
    if isinstance(attribute, cast("type", mlir.ir.StringAttr)):
        return cast("bytes", cast("Any", attribute).value_bytes)
    found = mlir.shaped_attribute(attribute)
    if found is None:
        return None
    shape, element = found
    if -1 in shape or not dtypes.is_known(element):
        return None
    return whole(capi.handle(attribute), TensorType(shape, element))


def _packed(codes: bytes, bits: int) -> bytes:
    """Byte-wide codes to `bits` bits each, low bits first."""
    per_byte = 8 // bits
    mask = (1 << bits) - 1
    out = bytearray(-(-len(codes) // per_byte))
    for position, code in enumerate(codes):
        out[position // per_byte] |= (code & mask) << (position % per_byte * bits)
    return bytes(out)
