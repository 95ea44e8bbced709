"""Over 500 contractions: kind x types x shape class x fill or accumulator x transposition, against numpy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from aiepipe.codegen import CompileOptions, compile_dispatch

from .dispatches import matmul
from .emulation import execute
from .matmul_cases import KINDS, PAIRS, SHAPES, TURNS, Case, check, grid

_SMALL = [SHAPES[name] for name in ("prime", "tile")]

MATMULS = list(grid(["matmul"]))
OTHERS = [
    case
    for case in grid([kind for kind in KINDS if kind != "matmul"], shapes=_SMALL)
    if case.accumulate == all(case.transposed)  # half of them: not everything with everything
]
UNSIGNED = [
    Case("matmul", pair, SHAPES[name], signed=signed)
    for pair, name, signed in itertools.product(
        PAIRS[:5], ("prime", "tile"), [(True, False), (False, True), (False, False)]
    )
]


def test_there_are_at_least_500_cases() -> None:
    cases = [*MATMULS, *OTHERS, *UNSIGNED]
    assert len(set(cases)) == len(cases) >= 500
    assert {case.kind for case in cases} == set(KINDS)
    assert {(case.pair, case.accumulate, case.transposed) for case in cases} == set(
        itertools.product(PAIRS, (False, True), TURNS)
    )


@pytest.mark.parametrize("case", MATMULS, ids=str)
def test_a_matmul_is_numpys(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", OTHERS, ids=str)
def test_other_contractions_are_numpys(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", UNSIGNED, ids=str)
def test_unsigned_operands_are_numpys(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("shape", [(16, 16, 64), (9, 11, 31)], ids=str)
def test_sums_of_random_bf16_are_within_float32s_rounding(shape: tuple[int, int, int]) -> None:
    """Products of bf16 are exact in float32; a sum of k terms in any order errs by at most k roundings of
    half a unit (2**-24) of the sum of magnitudes (Higham, Accuracy and Stability, 4.2), here doubled for a
    multiplier that cuts what lies below its widest term."""
    import ml_dtypes  # noqa: PLC0415

    m, n, k = shape
    generator = np.random.default_rng(0)
    a = generator.standard_normal((m, k)).astype(ml_dtypes.bfloat16)
    b = generator.standard_normal((k, n)).astype(ml_dtypes.bfloat16)
    dispatch = matmul(m, n, k, operand="bf16", accumulator="f32", fill=0)
    artifact = compile_dispatch(dispatch, CompileOptions())
    got = execute(artifact, [a, b, np.zeros((m, n), np.float32)]).runs[0][2].astype(np.float64)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    bound = 2 * k * 2.0**-24 * (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)))
    assert (np.abs(got - exact) <= bound).all()
