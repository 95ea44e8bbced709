"""The kernel's schedule: one product a bundle, and nothing in the code that the pipeline would punish."""

from __future__ import annotations

import pytest

from aiepipe.codegen.kernel_shape import KernelShape
from aiepipe.codegen.matrix_modes import MODES, Accumulator
from aiepipe.codegen.problem import View
from aiepipe.codegen.vector_kernel import schedule_kernel
from aiepipe.codegen.vector_program import VectorProgram, statements
from aiepipe.isa.assembler import assemble
from aiepipe.isa.hazards import find_hazards

INNER = {
    ("i8", "i8"): 104,
    ("i16", "i8"): 64,
    ("i16", "i16"): 64,
    ("bf16", "bf16"): 64,
    ("i32", "i32"): 32,
}
PIPELINED = [pair for pair, mode in MODES.items() if mode.accumulator is not Accumulator.HALVES]


@pytest.mark.parametrize("right_transposed", [False, True])
@pytest.mark.parametrize("left_transposed", [False, True])
@pytest.mark.parametrize("pair", PIPELINED, ids=str)
def test_a_kernel_keeps_the_multiplier_busy(
    pair: tuple[str, str], left_transposed: bool, right_transposed: bool
) -> None:
    mode = MODES[pair]
    shape = KernelShape(mode, 64, 64, INNER[pair], left_transposed, right_transposed)
    for begins in (True, False):
        kernel = schedule_kernel(shape, begins=begins)
        products = sum(text.startswith("vmac") for bundle in kernel.loop for text in bundle)
        assert products == len(kernel.loop)  # the loop multiplies in every bundle
        ideal = 64 * 64 * INNER[pair] / mode.products_per_bundle
        assert ideal / kernel.bundles > 0.95


@pytest.mark.parametrize("right_transposed", [False, True])
@pytest.mark.parametrize("left_transposed", [False, True])
@pytest.mark.parametrize("pair", list(MODES), ids=str)
def test_programs_have_no_hazards(
    pair: tuple[str, str], left_transposed: bool, right_transposed: bool
) -> None:
    """Operand registers are loaded while they are read, on purpose; everything else is a fault."""
    shape = KernelShape(MODES[pair], 32, 64, INNER[pair], left_transposed, right_transposed)
    buffers = ((0x400, 0x2400), (0x4400, 0x6400), (0x8400,))
    written = View(0, "i32", 4, 32 * 64 * 4, 0, (32, 64), (64, 1))
    program = VectorProgram(
        "matmul", shape, True, True, *buffers, buffers[-1], (), None, written, steps=3, begin=7
    )
    code = assemble(statements(program)).code
    assert {hazard.kind for hazard in find_hazards(code)} <= {"exposed-read"}


@pytest.mark.parametrize("groups", range(1, 12))
def test_any_number_of_groups_is_computed_once(groups: int) -> None:
    mode = MODES["i8", "i8"]
    kernel = schedule_kernel(KernelShape(mode, mode.group_rows * groups, 16, 32), begins=False)

    def products(bundles: tuple[tuple[str, ...], ...]) -> int:
        return sum(text.startswith("vmac") for bundle in bundles for text in bundle)

    total = products(kernel.head) + kernel.turns * products(kernel.loop) + products(kernel.tail)
    assert total == groups * 4 * 4
