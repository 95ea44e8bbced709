"""The AIE2 instruction table: slots, bundle formats, register classes, and 606 opcodes.

`table()` loads it once from aie2.json, which scripts/generate_isa_table.py writes from the facts that
Xilinx/llvm-aie publishes (Apache-2.0 WITH LLVM-exception). Everything that encodes, decodes, prints or
parses an instruction follows from the bit lists here; a bit position stands nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal, NotRequired, TypedDict, cast

OperandKind = Literal["reg", "uimm", "simm", "nimm"]


@dataclass(frozen=True, slots=True)
class Operand:
    """One encoded operand. Bit i of its code is bit `bits[i]` of the slot word.

    kind: "reg" (code indexes `registers`), "uimm" (unsigned), "simm" (two's complement), or "nimm"
    (always negative: the sign bit above the code is not stored). Immediates are `scale` times the code,
    which gives bytes for addresses.
    """

    name: str
    bits: tuple[int, ...]
    kind: OperandKind
    register_class: str = ""
    registers: tuple[str | None, ...] = ()
    codes: Mapping[str, int] = field(default_factory=dict[str, int])
    scale: int = 1

    @property
    def width(self) -> int:
        return len(self.bits)

    @property
    def immediates(self) -> range:
        """The values that an immediate can have; empty for a register."""
        count = 1 << self.width
        low = {"reg": 0, "uimm": 0, "simm": -(count >> 1), "nimm": -count}[self.kind]
        if self.kind == "reg":
            return range(0)
        return range(low * self.scale, (low + count) * self.scale, self.scale)

    def extract(self, word: int) -> str | int | None:
        """The operand's value in a slot word; None where the code names no register."""
        code = 0
        for position, bit in enumerate(self.bits):
            code |= (word >> bit & 1) << position
        if self.kind == "reg":
            return self.registers[code] if code < len(self.registers) else None
        if self.kind == "nimm" or (self.kind == "simm" and code >> (self.width - 1)):
            code -= 1 << self.width
        return code * self.scale

    def insert(self, value: str | int) -> int | None:
        """The value's bits at their place in the slot word; None where it cannot be encoded."""
        if isinstance(value, str):
            code = self.codes.get(value)
            if code is None:
                return None
        elif value in self.immediates:
            code = value // self.scale
        else:
            return None
        word = 0
        for position, bit in enumerate(self.bits):
            word |= (code >> position & 1) << bit
        return word


@dataclass(frozen=True, slots=True, repr=False)
class Opcode:
    """One instruction of one slot.

    A word matches when `word & mask == value` and every operand code names a register. `asm` is the
    assembler's syntax with `$operand`s; a name there that is no operand is in `tied`, which says what
    it stands for: another operand, or a fixed register. `implicit` are registers that have no bits.
    `latency` counts bundles from issue until the result can be read; `sched` is LLVM's scheduling class.
    """

    name: str
    slot: str
    asm: str
    mask: int
    value: int
    operands: tuple[Operand, ...]
    sched: str
    latency: int | None
    implicit: tuple[str, ...]
    tied: Mapping[str, str]
    load: bool
    store: bool
    vector: bool

    @property
    def mnemonic(self) -> str:
        return self.asm.split(" ", 1)[0]

    @property
    def is_nop(self) -> bool:
        return self.sched == "II_NOP"

    def operand(self, name: str) -> Operand | None:
        return next((operand for operand in self.operands if operand.name == name), None)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<{self.slot} {self.name}>"


@dataclass(frozen=True, slots=True)
class BundleFormat:
    """One arrangement of slots: bit offset of each slot's word in the little-endian bundle."""

    name: str
    size_bytes: int
    mask: int
    value: int
    offsets: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Table:
    """The whole table. Opcode names are unique over all slots; `nops` is by slot."""

    source: str
    slot_widths: Mapping[str, int]
    formats: tuple[BundleFormat, ...]
    registers: Mapping[str, tuple[str | None, ...]]
    opcodes: tuple[Opcode, ...]
    by_name: Mapping[str, Opcode]
    nops: Mapping[str, Opcode]


_RawOperand = TypedDict(
    "_RawOperand",
    {
        "name": str,
        "bits": list[int],
        "kind": OperandKind,
        "class": NotRequired[str],
        "scale": NotRequired[int],
    },
)


class _RawFormat(TypedDict):
    name: str
    size_bytes: int
    mask: int
    value: int
    offsets: dict[str, int]


class _RawOpcode(TypedDict):
    name: str
    slot: str
    asm: str
    mask: int
    value: int
    operands: list[_RawOperand]
    sched: str
    latency: NotRequired[int]
    implicit: NotRequired[list[str]]
    tied: NotRequired[dict[str, str]]
    flags: list[str]


class _RawTable(TypedDict):
    source: str
    slots: dict[str, int]
    formats: list[_RawFormat]
    registers: dict[str, list[str | None]]
    opcodes: list[_RawOpcode]


@cache
def table() -> Table:
    """The table, read and linked on first use (some 30 ms)."""
    text = files(__package__ or __name__).joinpath("aie2.json").read_text(encoding="utf-8")
    raw = cast("_RawTable", json.loads(text))
    registers = {name: tuple(members) for name, members in raw["registers"].items()}
    codes = {name: _codes(members) for name, members in registers.items()}

    def operand(entry: _RawOperand) -> Operand:
        register_class = entry.get("class", "")
        return Operand(
            name=entry["name"],
            bits=tuple(entry["bits"]),
            kind=entry["kind"],
            register_class=register_class,
            registers=registers.get(register_class, ()),
            codes=codes.get(register_class, {}),
            scale=entry.get("scale", 1),
        )

    opcodes = tuple(
        Opcode(
            name=entry["name"],
            slot=entry["slot"],
            asm=entry["asm"],
            mask=entry["mask"],
            value=entry["value"],
            operands=tuple(operand(item) for item in entry["operands"]),
            sched=entry["sched"],
            latency=entry.get("latency"),
            implicit=tuple(entry.get("implicit", ())),
            tied=entry.get("tied", {}),
            load="load" in entry["flags"],
            store="store" in entry["flags"],
            vector="vector" in entry["flags"],
        )
        for entry in raw["opcodes"]
    )
    return Table(
        source=raw["source"],
        slot_widths=raw["slots"],
        formats=tuple(BundleFormat(**entry) for entry in raw["formats"]),
        registers=registers,
        opcodes=opcodes,
        by_name={opcode.name: opcode for opcode in opcodes},
        nops={opcode.slot: opcode for opcode in opcodes if opcode.sched == "II_NOP"},
    )


def _codes(members: tuple[str | None, ...]) -> dict[str, int]:
    """The code that an assembler writes for each register: the lowest that names it."""
    codes: dict[str, int] = {}
    for code, register in enumerate(members):
        if register is not None:
            codes.setdefault(register, code)
    return codes
