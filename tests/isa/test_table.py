"""The table itself: generated, complete, and unambiguous over all words of every slot."""

from __future__ import annotations

import importlib.util
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from aiepipe.isa.table import Opcode, table

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_packaged_table_is_what_the_generator_makes() -> None:
    facts = REPOSITORY.parent / "shared" / "facts" / "aie2-isa.json"
    if not facts.is_file():
        pytest.skip(f"no {facts}: the facts file is not part of the repository")
    script = REPOSITORY / "scripts" / "generate_isa_table.py"
    spec = importlib.util.spec_from_file_location("generate_isa_table", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: str = module.dump(module.generate(json.loads(facts.read_text())))
    assert (REPOSITORY / "pipeline" / "isa" / "aie2.json").read_text() == made


def test_counts_are_those_of_the_facts() -> None:
    counts = dict.fromkeys(table().slot_widths, 0)
    for opcode in table().opcodes:
        counts[opcode.slot] += 1
    assert counts == {"alu": 46, "lda": 132, "ldb": 58, "lng": 6, "mv": 145, "st": 157, "vec": 62}
    assert len(table().formats) == 78
    assert len(table().by_name) == 606


def test_an_always_negative_spill_offset_reaches_one_step_below_the_stack_pointer() -> None:
    operand = table().by_name["VST_dmw_sts_w_ag_spill"].operand("imm")
    assert operand is not None
    assert (operand.immediates[0], operand.immediates[-1]) == (-4096 * 32, -32)  # imm12x32_neg
    assert operand.extract(operand.insert(-64) or 0) == -64


@pytest.mark.parametrize("slot", ["alu", "lda", "ldb", "lng", "mv", "st", "vec"])
def test_no_word_is_two_instructions(slot: str) -> None:
    if slot == "lng":  # 42 bits; its opcodes differ in fixed bits, as the loop below sees
        opcodes = [opcode for opcode in table().opcodes if opcode.slot == slot]
        for one, other in itertools.combinations(opcodes, 2):
            assert (one.value ^ other.value) & one.mask & other.mask
        return
    owners = np.zeros(1 << table().slot_widths[slot], dtype=np.uint8)
    for opcode in table().opcodes:
        if opcode.slot == slot:
            owners[words_of(opcode)] += 1
    assert owners.max() == 1


def words_of(opcode: Opcode) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """All words of the slot that are this instruction: every valid code of each operand, any ignored bit."""
    words = np.array([opcode.value], dtype=np.int64)
    covered = opcode.mask
    for operand in opcode.operands:
        for bit in operand.bits:
            covered |= 1 << bit
        choices = [
            sum((code >> position & 1) << bit for position, bit in enumerate(operand.bits))
            for code in range(1 << operand.width)
            if operand.kind != "reg"
            or (code < len(operand.registers) and operand.registers[code] is not None)
        ]
        words = (words[:, None] | np.array(choices, dtype=np.int64)).ravel()
    for bit in range(table().slot_widths[opcode.slot]):
        if not covered >> bit & 1:
            words = np.concatenate([words, words | 1 << bit])
    return words
