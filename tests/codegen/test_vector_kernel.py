"""The kernel's schedule: one product a bundle, and nothing in the code that the pipeline would punish."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest

from aiepipe.codegen import operand_schedule
from aiepipe.codegen.kernel_shape import KernelShape
from aiepipe.codegen.matrix_modes import MODES, VECTOR_BYTES, Accumulator
from aiepipe.codegen.pointer_moves import LEFT_POINTER, RIGHT_POINTER
from aiepipe.codegen.problem import View
from aiepipe.codegen.vector_kernel import Kernel, schedule_kernel
from aiepipe.codegen.vector_program import VectorProgram, statements
from aiepipe.isa.assembler import assemble
from aiepipe.isa.assembly import parse_statement
from aiepipe.isa.effects import effects
from aiepipe.isa.hazards import find_hazards

INNER = {
    ("i8", "i8"): 104,
    ("i16", "i8"): 64,
    ("i16", "i16"): 64,
    ("bf16", "bf16"): 64,
    ("i32", "i32"): 32,
}
PIPELINED = [pair for pair, mode in MODES.items() if mode.accumulator is not Accumulator.HALVES]

Piece = tuple[str, int]
"""32 bytes of A or B, numbered in the order of their loads."""

PIPELINED_READ = re.compile(r"exposed-read: w[lh]\d+: (?i:vld[ab]\S*) at 0x[0-9a-f]+ and (?i:vmac|vshuffle)")
"""A load of an operand register and a later product or vshuffle that still reads what it held."""


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


def operands_of_products(kernel: Kernel) -> Iterator[tuple[set[Piece], set[Piece]]]:
    """What each product reads of A and of B, on a pipeline where results land after the stages of timing.py:
    the pieces by the number of their load. A vshuffle hands on what it read."""
    written: dict[str, list[tuple[int, frozenset[Piece]]]] = {}
    loads = {"A": itertools.count(), "B": itertools.count()}
    bundles = [*kernel.head, *(kernel.loop * kernel.turns), *kernel.tail]
    for time, bundle in enumerate(bundles):
        results: list[tuple[str, int, frozenset[Piece]]] = []
        for text in bundle:
            found = effects(parse_statement(text).alternatives[0])
            pieces: set[Piece] = set()
            for read in found.reads:
                landed = [
                    value
                    for lands, value in written.get(read.register, ())
                    if time + read.stage > lands - (read.bypass == "mov")
                ]
                pieces |= landed[-1] if landed else set()
            if text.startswith("vmac"):
                yield ({piece for piece in pieces if piece[0] == "A"}, {p for p in pieces if p[0] == "B"})
            if text.startswith(("vlda w", "vlda.2d w", "vldb w", "vldb.2d w")):
                side = {LEFT_POINTER: "A", RIGHT_POINTER: "B"}[text.split("[")[1][:2]]
                pieces = {(side, next(loads[side]))}
            results += [(w.register, time + w.stage, frozenset(pieces)) for w in found.writes]
        for register, lands, value in results:
            if register.startswith("w"):
                written.setdefault(register, []).append((lands, value))


def wrong_products(shape: KernelShape, *, begins: bool) -> int:
    """Products that do not read just the blocks of their own step: pieces are loaded in order, A by rows of
    blocks and B by columns, each step after the other."""
    mode, kernel = shape.mode, schedule_kernel(shape, begins=begins)
    left, right = mode.left_block_bytes // VECTOR_BYTES, mode.right_block_bytes // VECTOR_BYTES
    wrong = total = 0
    for total, (from_left, from_right) in enumerate(operands_of_products(kernel), 1):
        step, index = divmod(total - 1, shape.step_bundles)
        row, column = divmod(index, mode.column_blocks)
        first_left = (step * mode.row_blocks + row) * left
        first_right = (step * mode.column_blocks + column) * right
        want_left = {("A", first_left + piece) for piece in range(left)}
        want_right = {("B", first_right + piece) for piece in range(right)}
        wrong += (from_left, from_right) != (want_left, want_right)
    assert total == shape.groups * shape.steps * shape.step_bundles
    return wrong


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("right_transposed", [False, True])
@pytest.mark.parametrize("left_transposed", [False, True])
@pytest.mark.parametrize("pair", PIPELINED, ids=str)
def test_each_product_reads_the_blocks_of_its_own_step(
    pair: tuple[str, str], left_transposed: bool, right_transposed: bool, begins: bool
) -> None:
    """Although their registers are being loaded for the next step meanwhile."""
    shape = KernelShape(MODES[pair], 32, 32, 4 * MODES[pair].inner, left_transposed, right_transposed)
    assert wrong_products(shape, begins=begins) == 0


@pytest.mark.parametrize("latency", [5, 6, 40])
def test_a_load_too_late_or_much_too_early_would_be_noticed(
    latency: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operand_schedule, "LOAD_LATENCY", latency)
    assert wrong_products(KernelShape(MODES["bf16", "bf16"], 32, 32, 32), begins=True) > 0


@pytest.mark.parametrize("right_transposed", [False, True])
@pytest.mark.parametrize("left_transposed", [False, True])
@pytest.mark.parametrize("pair", list(MODES), ids=str)
def test_programs_have_no_hazards(
    pair: tuple[str, str], left_transposed: bool, right_transposed: bool
) -> None:
    """None at all in code that the assembler schedules. In the pipelined kernels, products and vshuffles read
    operand registers that the next load is in flight for; that they read the right values is tested above."""
    shape = KernelShape(MODES[pair], 32, 64, INNER[pair], left_transposed, right_transposed)
    buffers = ((0x400, 0x2400), (0x4400, 0x6400), (0x8400,))
    written = View(0, "i32", 4, 32 * 64 * 4, 0, (32, 64), (64, 1))
    program = VectorProgram(
        "matmul", shape, True, True, *buffers, buffers[-1], (), None, written, steps=3, begin=7
    )
    found = find_hazards(assemble(statements(program)).code)
    on_purpose = [hazard for hazard in found if pair in PIPELINED and PIPELINED_READ.search(str(hazard))]
    assert [str(hazard) for hazard in found if hazard not in on_purpose] == []


@pytest.mark.parametrize("groups", range(1, 12))
def test_any_number_of_groups_is_computed_once(groups: int) -> None:
    mode = MODES["i8", "i8"]
    kernel = schedule_kernel(KernelShape(mode, mode.group_rows * groups, 16, 32), begins=False)

    def products(bundles: tuple[tuple[str, ...], ...]) -> int:
        return sum(text.startswith("vmac") for bundle in bundles for text in bundle)

    total = products(kernel.head) + kernel.turns * products(kernel.loop) + products(kernel.tail)
    assert total == groups * 4 * 4
