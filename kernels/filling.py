"""A function that returns a tensor filled with one value."""

from __future__ import annotations

from collections.abc import Sequence

from .bindings import ModuleBuilder, Value
from .elements import check_element, check_shape, check_value


def fill(shape: Sequence[int], element: str, value: int | float) -> str:
    """MLIR of `@fill() -> tensor<shape x element>`, every element `value`. Raises UsageError."""
    check_shape(shape)
    check_element(element)
    exact = check_value(value, element)
    builder = ModuleBuilder()
    type_ = builder.element(element)

    def body(_: Sequence[Value]) -> Sequence[Value]:
        return [builder.fill(builder.constant(type_, exact), builder.empty(shape, type_))]

    builder.function("fill", [], body)
    spec = "x".join([*map(str, shape), element])
    return builder.text(
        [
            f"A tensor of {spec}, every element {exact}.",
            "IREE makes no dispatch of a fill alone: the host fills at start-up and copies at each call",
            "(a pattern over 4 bytes that does not repeat takes a dispatch of __builtin_splat_i64).",
            "",
            "aiepipe-test",
            f"output: {spec}={exact}",
            *(["fills: 1"] if all(shape) else []),
        ]
    )
