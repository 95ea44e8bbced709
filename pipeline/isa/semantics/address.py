"""Addressing modes: where an instruction accesses memory, and how it moves its pointer afterwards.

Pointers and modifiers have 20 bits and wrap; a pointer is used before it is moved (emulation.md). For
2D and 3D: a counter `dc` runs from 0 to `dn`; while it is below, the pointer moves by `dj`, and when it
has reached it, the counter goes back to 0 and the next dimension moves: the outermost by `m`. From
llvm-aie's aiev2_addr.h (sizes are stored minus 1, counters begin at 0) and facts aie2-isa.md 2.1 (3D
uses d_i with d_{i+4}).
"""

from __future__ import annotations

import re

from ..bundle import SlotInstruction
from .meaning import Moment, meaning
from .value import I20, Value, constant

_BRACKETS = re.compile(r"\[([^\]]*)\](?:, (\$\w+))?")


def access(m: Moment, i: SlotInstruction) -> Value:
    """The address of the instruction's memory operand. Writes the moved pointer where there is one."""
    match = _BRACKETS.search(i.opcode.asm)
    if match is None:
        raise ValueError(f"{i.opcode.name} has no memory operand")
    inside, post = match.groups()
    base = m.read("SP" if inside.startswith("sp") else i.register("ptr"))
    if post is not None:
        _move(m, i)
    if "," not in inside:
        return base
    if "imm" in i.operands:
        return base + i.immediate("imm")
    return base + m.read(i.register("dj"))


@meaning(r"PADD[ABS]_(?!sp_).*")
def move_pointer(m: Moment, i: SlotInstruction) -> None:
    _move(m, i)


@meaning(r"PADD[AB]_sp_imm")
def move_stack_pointer(m: Moment, i: SlotInstruction) -> None:
    m.write("SP", m.read("SP") + i.immediate("imm"))


def _move(m: Moment, i: SlotInstruction) -> None:
    name = i.register("ptr")
    pointer = m.read(name)
    m.write(name, pointer + _step(m, i), ready=1)


def _step(m: Moment, i: SlotInstruction) -> Value:
    """How far the pointer moves. Writes the counters of 2D and 3D modes."""
    if "imm" in i.operands:
        return constant(I20, i.immediate("imm"))
    modifier = i.register("mod")
    if modifier.startswith("m"):
        return m.read(modifier)
    index = int(modifier[1])
    outer = m.read(f"m{index}")
    if not modifier.endswith("_3d"):
        more, count = _count(m, index)
        m.write(f"dc{index}", count, ready=1)
        return more.select(m.read(f"dj{index}"), outer)
    more, count = _count(m, index)
    more_rows, row = _count(m, index + 4)
    m.write(f"dc{index}", count, ready=1)
    m.write(f"dc{index + 4}", more.select(m.read(f"dc{index + 4}"), row), ready=1)
    return more.select(m.read(f"dj{index}"), more_rows.select(m.read(f"dj{index + 4}"), outer))


def _count(m: Moment, index: int) -> tuple[Value, Value]:
    """Whether the dimension has elements left, and its next counter."""
    count = m.read(f"dc{index}")
    more = count.ne(m.read(f"dn{index}"))
    return more, more.select(count + 1, 0)
