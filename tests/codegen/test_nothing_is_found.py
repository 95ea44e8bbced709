"""The checks of the emulator find nothing in what we generate: no read of memory that nobody wrote, no
race, no lock, token or word that is left behind."""

from __future__ import annotations

import pytest

from aiepipe.codegen import CompileOptions, compile_dispatch

from .emulation import execute
from .matmul_cases import PAIRS, Case

SHAPES = [(7, 11, 13), (36, 52, 28), (64, 64, 260)]
"""Broken words (scalar code), parts of two sizes, several rounds with steps of two sizes."""


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("pair", PAIRS)
def test_a_matmul_is_clean(pair: tuple[str, str], shape: tuple[int, int, int], accumulate: bool) -> None:
    case = Case("matmul", pair, shape, accumulate)
    artifact = compile_dispatch(case.dispatch(), CompileOptions())
    buffers = case.buffers(1)
    for run in execute(artifact, buffers, repeat=2, check=True).runs:
        assert (run[2] == case.expected(buffers)).all()
