"""Functions of libIREECompiler.so that the bindings do not offer: raw bytes of attributes.

Source: mlir/include/mlir-c/{IR,BuiltinAttributes}.h; the library is the one that `iree.compiler.api` loads.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from typing import Any, cast

from .mlir import Attribute, Context, Operation, ir

_loader = cast("Any", importlib.import_module("iree.compiler.api.ctypes_dl"))
_library = cast("ctypes.CDLL", _loader._dylib)


class _StringRef(ctypes.Structure):
    _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_size_t))


def declare(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """A function of libIREECompiler.so with its C types."""
    function = _library[name]
    function.restype = result
    function.argtypes = list(arguments)
    return cast("Callable[..., Any]", function)


_get_attribute = declare("mlirOperationGetAttributeByName", ctypes.c_void_p, ctypes.c_void_p, _StringRef)
_is_dense = declare("mlirAttributeIsADenseElements", ctypes.c_bool, ctypes.c_void_p)
_is_splat = declare("mlirDenseElementsAttrIsSplat", ctypes.c_bool, ctypes.c_void_p)
_raw_data = declare("mlirDenseElementsAttrGetRawData", ctypes.c_void_p, ctypes.c_void_p)
_is_resource = declare("mlirAttributeIsADenseResourceElements", ctypes.c_bool, ctypes.c_void_p)
_RESOURCE_WORD = {
    bits: declare(
        f"mlirDenseUInt{bits}ResourceElementsAttrGetValue",
        getattr(ctypes, f"c_uint{bits}"),
        ctypes.c_void_p,
        ctypes.c_ssize_t,
    )
    for bits in (8, 16, 32, 64)
}


def _pointer(thing: object, kind: str) -> int:
    name = f"iree.compiler.ir.{kind}._CAPIPtr".encode()
    return cast("int", _loader.PyCapsule_GetPointer(cast("Any", thing)._CAPIPtr, name))


def attribute_handle(op: Operation, name: str) -> int | None:
    """The C handle of an attribute, which exists also where the bindings cannot make an object of it."""
    encoded = name.encode()
    return cast("int | None", _get_attribute(_pointer(op, "Operation"), _StringRef(encoded, len(encoded))))


def handle(found: Attribute) -> int:
    """The C handle of an attribute object."""
    return _pointer(found, "Attribute")


def dense_bytes(attribute_handle: int, count: int, element_bytes: int) -> tuple[bytes, bool] | None:
    """Bytes of a dense elements attribute, one element of `element_bytes` each, and whether it is a splat.

    A splat gives one element. Elements narrower than a byte take one byte each, as MLIR holds them. None
    when the attribute is neither dense elements nor a dense resource.
    """
    if _is_dense(attribute_handle):
        splat = bool(_is_splat(attribute_handle))
        length = (1 if splat else count) * element_bytes
        return (ctypes.string_at(_raw_data(attribute_handle), length) if length else b""), splat
    if _is_resource(attribute_handle):
        width = next(w for w in (8, 4, 2, 1) if element_bytes % w == 0)
        word = _RESOURCE_WORD[width * 8]
        words = (int(word(attribute_handle, i)) for i in range(count * element_bytes // width))
        return b"".join(value.to_bytes(width, "little") for value in words), False
    return None


def scalar_bytes(found: Attribute, context: Context, element_bytes: int) -> bytes:
    """The exact bits of an integer or float attribute, NaN payloads included."""
    with ir.Location.unknown(context):
        splat = ir.DenseElementsAttr.get_splat(ir.RankedTensorType.get([1], found.type), found)
    dense = dense_bytes(handle(cast("Attribute", splat)), 1, element_bytes)
    return b"" if dense is None else dense[0]
