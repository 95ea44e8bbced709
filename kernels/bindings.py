"""The MLIR bindings as the builders use them, typed; the only module here that imports IREE.

Values and ops of the IR stay opaque to the builders: they get them from here and hand them back.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, NewType, cast

from aiepipe.errors import UsageError

from .elements import number_text

Value = NewType("Value", object)
Type = NewType("Type", object)


class ModuleBuilder:
    """Builds one module with functions on tensors. Not to be used after `text`."""

    def __init__(self) -> None:
        self._ir = cast("Any", importlib.import_module("iree.compiler.ir"))
        self._func = cast("Any", importlib.import_module("iree.compiler.dialects.func"))
        self._arith = cast("Any", importlib.import_module("iree.compiler.dialects.arith"))
        self._tensor = cast("Any", importlib.import_module("iree.compiler.dialects.tensor"))
        self._linalg = cast("Any", importlib.import_module("iree.compiler.dialects.linalg"))
        self._context = self._ir.Context()
        with self._context, self._ir.Location.unknown():
            self._module = self._ir.Module.create()

    def element(self, name: str) -> Type:
        """An element type by its MLIR name. Raises UsageError for what is none."""
        try:
            with self._context:
                return Type(self._ir.Type.parse(name))
        except self._ir.MLIRError:
            raise UsageError(f"{name!r} is no MLIR element type", remedy="e.g. i8, i32, bf16, f32") from None

    def tensor(self, shape: Sequence[int], element: Type) -> Type:
        """A ranked tensor type."""
        with self._context, self._ir.Location.unknown():
            return Type(self._ir.RankedTensorType.get(list(shape), element))

    def function(
        self, name: str, arguments: Sequence[Type], body: Callable[[Sequence[Value]], Sequence[Value]]
    ) -> None:
        """Adds a public function; `body` gets its arguments and gives its results."""
        with self._context, self._ir.Location.unknown(), self._ir.InsertionPoint(self._module.body):

            def build(*values: Value) -> Any:
                return tuple(body(values))

            self._func.FuncOp.from_py_func(*arguments, name=name)(build)

    def constant(self, element: Type, value: int | float) -> Value:
        """arith.constant of a scalar."""
        # as text: MLIR rounds a decimal number to a small float type once, numpy's types do it twice
        attribute = self._ir.Attribute.parse(f"{number_text(value, str(element))} : {element}")
        return Value(self._arith.ConstantOp(element, attribute).result)

    def empty(self, shape: Sequence[int], element: Type) -> Value:
        """tensor.empty."""
        return Value(self._tensor.empty(list(shape), element))

    def fill(self, value: Value, init: Value) -> Value:
        """linalg.fill."""
        return Value(self._linalg.fill(value, outs=[init]))

    def matmul(self, a: Value, b: Value, init: Value, maps: Sequence[Sequence[int]] | None) -> Value:
        """linalg.matmul; `maps` are the loop dims (m, n, k) = (0, 1, 2) of a, b and init, None for A @ B."""
        affine = None
        if maps is not None:
            dims = [self._ir.AffineDimExpr.get(i) for i in range(3)]
            affine = [self._ir.AffineMap.get(3, 0, [dims[d] for d in map_]) for map_ in maps]
        return Value(self._linalg.matmul(a, b, outs=[init], indexing_maps=affine))

    def text(self, header: Sequence[str]) -> str:
        """The functions as text, below the header as comments."""
        functions = [str(op.operation.get_asm()).strip() for op in self._module.body.operations]
        return "".join(f"// {line}".rstrip() + "\n" for line in header) + "\n".join(functions) + "\n"
