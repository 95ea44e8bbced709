"""Every opcode is accounted for: it has one meaning, or docs/isa-coverage.md says why it has none."""

from __future__ import annotations

import importlib.util
import random
import re
from pathlib import Path
from types import ModuleType

from aiepipe.isa.effects import effects
from aiepipe.isa.registers import units
from aiepipe.isa.semantics import has_meaning, meaning_of
from aiepipe.isa.semantics.meaning import Write
from aiepipe.isa.table import table
from tests.emulator.core.test_engines import OPCODES, random_instruction

ROOT = Path(__file__).resolve().parents[3]
NOT_EXECUTED = re.compile(r"V\w+_cm_core_sparse_wide|V\w+_F_vmac_bm_core_sparse_narrow")
NOT_MODELLED = {
    *("srSRS_of", "srUPS_of", "srFPFlags", "srF2FFlags", "srF2IFlags", "srSparse_of", "srCompr_uf"),
}
"""Status registers whose bits are not public (docs/isa-coverage.md)."""


def generator() -> ModuleType:
    path = ROOT / "scripts" / "generate_isa_coverage.py"
    spec = importlib.util.spec_from_file_location("generate_isa_coverage", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    assert generator().page() == (ROOT / "docs" / "isa-coverage.md").read_text(encoding="utf-8")


def test_what_has_no_meaning_is_listed() -> None:
    opcodes = table().opcodes
    assert (len(opcodes), sum(o.is_nop for o in opcodes)) == (606, 7)
    without = {o.name for o in opcodes if not o.is_nop and not has_meaning(o.name)}
    assert {name for name in without if not NOT_EXECUTED.fullmatch(name)} == set()
    assert len(without) == 16


def test_meanings_write_what_the_scheduler_thinks_and_when() -> None:
    """The scheduler places by isa/effects.py; a register that lands otherwise would break its programs."""
    for opcode in OPCODES:
        instruction = random_instruction(random.Random(1), opcode)
        meaning = meaning_of(instruction)
        assert meaning is not None
        written = {
            (unit, effect.ready)
            for stage in meaning.stages
            for effect in stage.effects
            if isinstance(effect, Write)
            for unit in units(effect.register)
        }
        said = {(a.register, a.stage) for a in effects(instruction).writes if a.register not in NOT_MODELLED}
        assert written == said, opcode.name
