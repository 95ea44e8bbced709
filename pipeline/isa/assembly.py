"""Assembly text: one statement to the instructions it can mean, and an instruction to its text.

The syntax is the public assembler's, as the table's `asm` templates have it: `lda r0, [p0], #4`. Case of
registers does not matter on input; `#` before a number may be left out; `//` begins a comment; `;`
stands between the instructions of one bundle. Beside the table's mnemonics
there are generic ones for what several slots can do, see GENERIC: `padd [p0], #4` is padda, paddb or
padds, wherever there is room; `movi r0, #5` is mova, movx, mov or movxm, whichever fits value and
register; `vld`, `vld.2d`, `vld.3d` are vlda or vldb; `copy r1, r0` is mov or or.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from ..errors import ArtifactError
from .bundle import SlotInstruction
from .table import Opcode, Operand, table

ARTIFACT = "assembly"

# Generic mnemonic -> statements to try; {0} is the operand text, {1}.. its single operands.
GENERIC: dict[str, tuple[str, ...]] = {
    "padd": ("padda {0}", "paddb {0}", "padds {0}"),
    "padd.2d": ("padda.2d {0}", "paddb.2d {0}", "padds.2d {0}"),
    "padd.3d": ("padda.3d {0}", "paddb.3d {0}", "padds.3d {0}"),
    "movi": ("mova {0}", "movx {0}", "mov {0}", "movxm {0}"),
    "copy": ("mov {0}", "or {1},{2},{2}"),
    "vld": ("vldb {0}", "vlda {0}"),
    "vld.2d": ("vldb.2d {0}", "vlda.2d {0}"),
    "vld.3d": ("vldb.3d {0}", "vlda.3d {0}"),
}

# The registers that the public assembler prints in lower case though the table has capitals
# (AIE2GenRegisterInfo.td).
_PRINTED = {"SP": "sp", "LS": "ls", "LE": "le", "LC": "lc", "DP": "dp"}

# The table's names of the register pairs that 3D addressing uses; text says d0 for both kinds.
_PAIRED = "_3d"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A label in an operand's place: the operand's name in the instruction, and the label."""

    operand: str
    label: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement's alternatives. With a symbol, its operand is 0 until the label's address is known."""

    text: str
    alternatives: tuple[SlotInstruction, ...]
    symbol: Symbol | None = None


def parse(line: str) -> tuple[SlotInstruction, ...]:
    """All encodings of one statement. Raises ArtifactError(artifact="assembly") when there is none."""
    parsed = parse_statement(line)
    if parsed.symbol is not None:
        raise _error(line, f"{parsed.symbol.label} is a label; only the assembler knows its address")
    return parsed.alternatives


@lru_cache(maxsize=1 << 14)
def parse_statement(line: str) -> Parsed:
    """As `parse`, but a branch target or the value of movxm may be a label.

    `#` before it may be left out unless the label is also a register's name.
    """
    text = _normal(line)
    mnemonic, _, rest = text.partition(" ")
    alternatives: list[SlotInstruction] = []
    symbols: set[Symbol] = set()
    if mnemonic in GENERIC:
        fields = rest.split(",")
        texts = [pattern.format(rest, *fields, *[""] * 2) for pattern in GENERIC[mnemonic]]
    else:
        texts = [text]
    for candidate in texts:
        for opcode in _by_mnemonic().get(candidate.partition(" ")[0], ()):
            found = _read(opcode, candidate)
            if found is not None:
                alternatives.append(found[0])
                symbols |= set() if found[1] is None else {found[1]}
    if not alternatives:
        known = mnemonic in GENERIC or mnemonic in _by_mnemonic()
        raise _error(line, "operands do not fit" if known else "no such instruction")
    return Parsed(line.strip(), tuple(alternatives), next(iter(symbols), None))


def print(instruction: SlotInstruction) -> str:  # noqa: A001
    """The instruction as assembly text. `parse` of it gives back an equal instruction among others."""
    opcode = instruction.opcode

    def operand(match: re.Match[str]) -> str:
        name = match[1]
        tied = opcode.tied.get(name)
        value = instruction.operands[name] if tied is None else instruction.operands.get(tied, tied)
        return f"#{value}" if isinstance(value, int) else _PRINTED.get(value, value.removesuffix(_PAIRED))

    return _OPERAND.sub(operand, opcode.asm)


_OPERAND = re.compile(r"\$(\w+)")
_NUMBER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|\d+)")
_LABEL = re.compile(r"[A-Za-z_.$][\w.$]*")
# Only these immediates are wide enough to hold any address of program or data memory.
_SYMBOLIC_BITS = 20


def _normal(line: str) -> str:
    """Comments gone, one space after the mnemonic, none around commas and brackets."""
    text = line.partition("//")[0].strip()
    mnemonic, _, rest = text.partition(" ")
    rest = re.sub(r"\s*([,\[\]])\s*", r"\1", " ".join(rest.split()))
    return f"{mnemonic.lower()} {rest}".strip()


@cache
def _by_mnemonic() -> dict[str, list[Opcode]]:
    index: dict[str, list[Opcode]] = {}
    for opcode in table().opcodes:
        index.setdefault(opcode.mnemonic, []).append(opcode)
    return index


@cache
def _pattern(opcode: Opcode) -> re.Pattern[str]:
    """The template as a regular expression with a group per operand."""
    pieces = re.split(r"(\$\w+)", _normal(opcode.asm))
    expression = ""
    for piece in pieces:
        if not piece.startswith("$"):
            expression += re.escape(piece)
            continue
        name = piece[1:]
        tied = opcode.tied.get(name)
        if tied is not None and opcode.operand(tied) is None:
            expression += re.escape(tied)
        else:
            expression += f"(?P<{name}>[^,\\[\\] ]+)"
    return re.compile(expression, re.IGNORECASE)


def _read(opcode: Opcode, text: str) -> tuple[SlotInstruction, Symbol | None] | None:
    match = _pattern(opcode).fullmatch(text)
    if match is None:
        return None
    operands: dict[str, str | int] = {}
    symbol: Symbol | None = None
    for operand in opcode.operands:
        value = _value(operand, match[operand.name])
        if value is None:
            return None
        if isinstance(value, Symbol):
            symbol, value = value, 0
        operands[operand.name] = value
    for name, target in opcode.tied.items():
        if target in operands and match[name].lower() != str(operands[target]).lower():
            return None
    return SlotInstruction(opcode, operands), symbol


def _value(operand: Operand, text: str) -> str | int | Symbol | None:
    if operand.kind == "reg":
        register = _spellings().get(text.lower(), "")
        return next((name for name in (register, register + _PAIRED) if name in operand.codes), None)
    marked, text = text.startswith("#"), text.removeprefix("#")
    if _NUMBER.fullmatch(text):
        value = int(text, 0) if "x" in text.lower() else int(text)
        if operand.kind == "simm" and operand.width == 32 and value >> 31 == 1:
            value -= 1 << 32  # 0xffffffff and -1 are the same word
        return value if value in operand.immediates else None
    named = _LABEL.fullmatch(text) and (marked or text.lower() not in _spellings())
    if named and operand.width >= _SYMBOLIC_BITS:
        return Symbol(operand.name, text)
    return None


@cache
def _spellings() -> dict[str, str]:
    """Lower-case spelling -> the table's name of the register."""
    names = {name for members in table().registers.values() for name in members if name is not None}
    return {name.lower(): name for name in names}


def _error(line: str, reason: str) -> ArtifactError:
    return ArtifactError(f"{line.strip()!r}: {reason}", artifact=ARTIFACT)
