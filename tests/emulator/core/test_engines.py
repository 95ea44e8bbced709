"""The compiled engine does what the plain one does, on random straight lines, loops and calls."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aiepipe.emulator.core.port import CoreStop
from aiepipe.errors import EmulationError
from aiepipe.isa.bundle import SlotInstruction
from aiepipe.isa.effects import result_operand
from aiepipe.isa.encode import bundle_sizes, encode_bundle
from aiepipe.isa.semantics import has_meaning
from aiepipe.isa.semantics.registers import registers
from aiepipe.isa.table import Opcode, table

from .bench import OWN, Bench, assemble

_FLOW = ("II_J", "II_JL", "II_JNZ", "II_JZ", "II_RET", "II_DONE", "II_JNZD", "II_J_IND", "II_JL_IND")
_SKIPPED_DESTINATIONS = {"LS", "LE", "LC", "CORE_ID", "crRnd", "crSat"}
MODE_WORDS = (776, 28, 826, 824, 60, 792, 858, 1626, 786, 35, 0, 2, 18)


def _usable(opcode: Opcode) -> bool:
    return not opcode.is_nop and has_meaning(opcode.name) and opcode.sched not in _FLOW


OPCODES = tuple(sorted((o for o in table().opcodes if _usable(o)), key=lambda o: o.name))


def random_instruction(draw: random.Random, opcode: Opcode) -> SlotInstruction:
    operands: dict[str, str | int] = {}
    for operand in opcode.operands:
        if operand.kind == "reg":
            names = [name for name in operand.codes if name not in _SKIPPED_DESTINATIONS]
            operands[operand.name] = draw.choice(names)
        elif operand.name == "imm":  # aligned for each access, and near enough
            near = [n for n in operand.immediates if -0x2000 <= n < 0x2000 and n % 2 == 0]
            operands[operand.name] = draw.choice(near)
        else:
            operands[operand.name] = draw.choice(operand.immediates)
    return SlotInstruction(opcode, operands)


def random_bundle(draw: random.Random) -> bytes:
    """One to three instructions in slots that go together."""
    for _ in range(100):
        chosen: dict[str, SlotInstruction] = {}
        for _ in range(draw.randint(1, 3)):
            instruction = random_instruction(draw, draw.choice(OPCODES))
            chosen.setdefault(instruction.opcode.slot, instruction)
        if bundle_sizes(chosen):
            return encode_bundle(tuple(chosen.values()))
    raise AssertionError("no bundle found")


def straight_line(seed: int, length: int) -> bytes:
    draw = random.Random(seed)
    return b"".join(random_bundle(draw) for _ in range(length))


def prepare(bench: Bench, seed: int) -> None:
    """Random registers and memory; pointers into own memory, mode words that mean something."""
    draw = random.Random(seed)
    for register in registers().values():
        bench.core.write_register(register.name, draw.getrandbits(8 * register.size))
    for i in range(8):
        bench.core.write_register(f"p{i}", OWN + 64 * draw.randrange(256, 512))
        for family in ("m", "dj"):
            bench.core.write_register(f"{family}{i}", 64 * draw.randrange(-32, 32))
        bench.core.write_register(f"dn{i}", draw.randrange(3))
        bench.core.write_register(f"dc{i}", draw.randrange(3))
    for i in range(32):
        if draw.random() < 0.5:
            bench.core.write_register(f"r{i}", draw.choice(MODE_WORDS))
    for name in ("LC", "LE", "LS", "crRnd", "crSat"):
        bench.core.write_register(name, 0)
    bench.core.write_register("SP", OWN + 0x8000)
    generator = np.random.default_rng(seed)
    bench.own[:] = generator.integers(0, 256, bench.own.size, dtype=np.uint8)
    bench.port.words = [(draw.getrandbits(32), draw.random() < 0.5) for _ in range(200)]
    bench.port.cascade_in = [generator.bytes(64) for _ in range(200)]


def state(bench: Bench) -> dict[str, int]:
    return {name: bench.core.read_register(name) for name in (*registers(), "pc")}


def outcome(bench: Bench, budgets: Iterator[int] | list[int]) -> list[CoreStop | str]:
    """How each run ended; a fault as its text."""
    stops: list[CoreStop | str] = []
    for budget in budgets:
        try:
            stops.append(bench.core.run(budget))
        except EmulationError as error:
            stops.append(f"{error.kind} {error.pc}")
            break
    return stops


def compare(code: bytes, seed: int, budgets: list[int], *, checked: bool = False) -> tuple[Bench, Bench]:
    plain, jit = Bench(code, "plain", checked=checked), Bench(code, "jit", checked=checked)
    for bench in (plain, jit):
        prepare(bench, seed)
        bench.shadow[:] = np.random.default_rng(seed).random(0x10000) < 0.999
    ends = [outcome(bench, budgets) for bench in (plain, jit)]
    assert ends[0] == ends[1]
    if isinstance(ends[0][-1], str):
        return plain, jit
    differences = {
        name: (hex(value), hex(state(jit)[name]))
        for name, value in state(plain).items()
        if value != state(jit)[name]
    }
    assert not differences
    assert np.array_equal(plain.own, jit.own)
    assert plain.core.bundles == jit.core.bundles
    assert plain.core.stalls == jit.core.stalls
    assert plain.core.stack == jit.core.stack
    assert np.array_equal(plain.shadow, jit.shadow)
    assert plain.unwritten == jit.unwritten
    assert plain.port.log == jit.port.log
    assert plain.port.sent == jit.port.sent
    return plain, jit


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_straight_lines(seed: int) -> None:
    compare(straight_line(seed, 8) + assemble(*[""] * 20), seed, [28])


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_checked_straight_lines(seed: int) -> None:
    compare(straight_line(seed, 8) + assemble(*[""] * 20), seed, [28], checked=True)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_budgets_that_end_anywhere(seed: int, budgets: list[int]) -> None:
    draw = random.Random(seed)
    scalar = [o for o in OPCODES if not o.vector and o.slot in ("alu", "mv", "lda")]
    body = b"".join(
        encode_bundle((random_instruction(draw, draw.choice(scalar)),)) for _ in range(draw.randint(6, 12))
    )
    head = assemble(*[""] * 8)
    jump = assemble("j #16", *[""] * 5)
    compare(head + body + jump, seed, budgets)


_RESERVED = {"r10", "lr", "l5", "SP", "LC", "p7", "r31"}
SCALAR = tuple(
    o
    for o in OPCODES
    if not o.vector
    and not any(text in o.asm for text in ("sp", "ms,", ".tm", "q"))
    and not re.fullmatch(r"\w+_[SU](8|16)_(ag_pstm|dmhb)\w*|LDA_dmv\w*|\w*_Q", o.name)
)
_ADDRESSES = re.compile(r"p\d|m\d|d[jnc]\d")


def some(draw: random.Random, count: int) -> bytes:
    """Scalar bundles that leave alone what the program around them needs."""
    code = b""
    while count:
        instruction = random_instruction(draw, draw.choice(SCALAR))
        named = {value for value in instruction.operands.values() if isinstance(value, str)}
        result = result_operand(instruction.opcode)
        moves = result is not None and _ADDRESSES.match(instruction.register(result))
        if not _RESERVED & named and not moves:
            code += encode_bundle((instruction,))
            count -= 1
    return code


def aligned(code: bytes) -> bytes:
    return code + assemble(*[""] * (-len(code) % 16 // 2))


def structured(seed: int) -> bytes:
    """Two loops around a call of a function with a zero-overhead loop; delay slots are filled at random."""
    draw = random.Random(seed)
    rounds, trips = draw.randint(1, 4), draw.randint(1, 5)
    function = 0x400
    start = aligned(assemble(f"mova r10, #{rounds}") + some(draw, 3))
    body = some(draw, draw.randint(0, 4)) + assemble(f"jl #{function}") + some(draw, 5)
    body = aligned(start + body) + some(draw, draw.randint(0, 6)) + assemble("add r10, r10, #-1")
    body += assemble(f"jnz r10, #{len(start)}") + some(draw, 5) + assemble("done")
    inner = aligned(assemble(f"movx lc, #{trips}") + some(draw, 12) + assemble(*[""] * 60))
    begin = function + 16 + len(inner)
    setup = assemble(f"|16|movxm ls, #{begin}")
    end = begin + 16 * 8
    loop = assemble(f"movxm le, #{end}") + inner[:-6]
    code = setup + aligned(loop)
    code += assemble("|16|") * ((begin - function - len(code)) // 16)
    code += b"".join(assemble("|16|add r31, r31, #1") for _ in range(8)) + assemble("|16|add r31, r31, #2")
    code += some(draw, draw.randint(0, 3)) + assemble("ret lr") + some(draw, 5)
    return body.ljust(function, b"\x00") + code


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32), st.lists(st.integers(1, 300), min_size=1, max_size=6))
def test_loops_and_calls(seed: int, budgets: list[int]) -> None:
    compare(structured(seed), seed, [*budgets, 2000])


def modes(draw: random.Random, instruction: SlotInstruction) -> list[str]:
    """What gives the instruction's mode word, if it has one, a value that means something."""
    name = instruction.opcode.name
    if "c" in instruction.operands:
        if "sparse" in name:
            words = (0x5C,) if "_F" in name else (0x3A8, 0x352, 0x3BA, 0x1BBA)
            return [f"movxm {instruction.register('c')}, #{draw.choice(words)}"]
        words = (
            (28, 60)
            if "_F" in name
            else (0x388, 0x368, 0x37A, 776, 784, 792, 794, 826, 858, 824, 808, 770, 0x300, 1626, 0x1B3A)
        )
        return [f"movxm {instruction.register('c')}, #{draw.choice(words)}"]
    if name == "VSHUFFLE":
        return [f"movxm {instruction.register('mod')}, #{draw.randrange(48)}"]
    if name.startswith("VBCSTSHFL"):
        return [f"movxm r29, #{draw.randrange(1, 48)}"]
    if name.startswith(("VLDB_SPARSE", "VLDB_COMPR")):
        return [f"movxm dp, #{OWN + 4 * draw.randrange(0x3000)}", "", "", "", ""]
    if name == "VSHIFT_ALIGN":
        return [f"movxm {instruction.register('pre')}, #0"]
    if name.startswith("VLDB_4x"):
        register = instruction.register("src")
        return [f"movxm r0, #{OWN + 8 * draw.randrange(0x1000)}", f"vbcst.32 x{register[2:]}, r0", "", ""]
    return [""]


RESTORE = [
    *(f"movxm p{i}, #{OWN + 0x4000 + 64 * i}; mova dj{i}, #{64 * i - 128}" for i in range(8)),
    *(f"mova m{i}, #{128 - 64 * i}" for i in range(8)),
    f"movxm sp, #{OWN + 0x8000}",
]
"""Pointers and modifiers to aligned places again, while results land."""


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(OPCODES), 20))
def test_each_opcode(first: int) -> None:
    """Every opcode that has a meaning, twice with random operands, with time for all to land between."""
    code, bundles = assemble(*RESTORE), len(RESTORE)
    for opcode in OPCODES[first : first + 20]:
        draw = random.Random(opcode.name)
        for _ in range(2):
            instruction = random_instruction(draw, opcode)
            before = modes(draw, instruction)
            code += assemble(*before) + encode_bundle((instruction,)) + assemble(*RESTORE)
            bundles += len(before) + 1 + len(RESTORE)
    plain, _ = compare(code, first, [bundles])
    assert plain.core.pc == len(code), outcome(plain, [1])
