"""Matrix multiplication with a fill of any value, an accumulator argument, or transposed operands."""

from __future__ import annotations

from collections.abc import Sequence

from aiepipe import dtypes

from .bindings import ModuleBuilder, Value
from .elements import check_element, check_shape, check_value, wrapped


def matmul(
    m: int,
    n: int,
    k: int,
    operand: str = "i32",
    accumulator: str = "i32",
    *,
    fill: int | float | None = 7,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> str:
    """MLIR of `@matmul(A, B) = fill + A @ B`, or with `fill=None` of `@matmul(A, B, C) = C + A @ B`.

    A is m x k (k x m when transposed), B is k x n (n x k), both of type `operand`; the result is m x n of
    type `accumulator`. Transposition goes through `indexing_maps`: the named ops for it left MLIR. Raises
    UsageError for sizes, types and values that make no program.
    """
    check_shape((m, n, k))
    check_element(operand)
    check_element(accumulator)
    exact = None if fill is None else check_value(fill, accumulator)
    a_shape = (k, m) if transpose_a else (m, k)
    b_shape = (n, k) if transpose_b else (k, n)
    builder = ModuleBuilder()
    operand_type, accumulator_type = builder.element(operand), builder.element(accumulator)
    arguments = [builder.tensor(a_shape, operand_type), builder.tensor(b_shape, operand_type)]
    if exact is None:
        arguments.append(builder.tensor((m, n), accumulator_type))
    maps = None
    if transpose_a or transpose_b:
        maps = [[2, 0] if transpose_a else [0, 2], [1, 2] if transpose_b else [2, 1], [0, 1]]

    def body(values: Sequence[Value]) -> Sequence[Value]:
        if exact is None:
            init = values[2]
        else:
            value = builder.constant(accumulator_type, exact)
            init = builder.fill(value, builder.empty((m, n), accumulator_type))
        return [builder.matmul(values[0], values[1], init, maps)]

    builder.function("matmul", arguments, body)
    a_spec, b_spec = (f"{r}x{c}x{operand}" for r, c in (a_shape, b_shape))
    result = f"{m}x{n}x{accumulator}"
    term = "C" if exact is None else str(exact)
    sides = f"{'A^T' if transpose_a else 'A'} @ {'B^T' if transpose_b else 'B'}"
    header = [f"{result}: {term} + {sides}, with A {a_spec} and B {b_spec}."]
    if exact is None:
        header.append("C is an argument and accumulated into in place: a second run needs it restored.")
    elif m and n and k:
        header.append("IREE makes one dispatch; the fill is fused into it, so its HAL IR has no fill.")
    if dtypes.is_integer(accumulator) and dtypes.is_integer(operand) and operand != "i1" != accumulator:
        start = 0 if exact is None else int(exact)
        inputs = [f"{a_spec}=1", f"{b_spec}=2", *([f"{result}=0"] if fill is None else [])]
        header += ["", "aiepipe-test", *(f"input: {text}" for text in inputs)]
        header.append(f"output: {result}={wrapped(start + 2 * k, accumulator)}")
        header += ["fills: none"] if m and n and k else []
    return builder.text(header)
