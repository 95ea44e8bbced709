"""The core's register file: names, types, and which bytes of one flat file each register is.

Registers that overlap in hardware overlap here (`x3` is `wl3` and `wh3`, `cm0` is `amll0` to `amhh0`,
`l0` is `r16` and `r17`), so a register is a run of bytes, and the smallest pieces, the cells, tell what
aliases what. Facts: aie2-isa.md 2.1; the 20-bit widths and the sharing from llvm-aie's
AIE2GenRegisterInfo.td.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from .value import I20, I32, I64, Type


@dataclass(frozen=True, slots=True)
class Register:
    """`type` is how it is read by default; `offset` and `size` are bytes in the flat file."""

    name: str
    type: Type
    offset: int
    size: int
    cells: tuple[int, ...]
    """Byte offsets of the cells that it is made of, lowest first."""


CONTROL_REGISTERS = (
    "crVaddSign",
    "crF2FMask",
    "crF2IMask",
    "crFPMask",
    "crMCDEn",
    "crPackSign",
    "crRnd",
    "crSCDEn",
    "crSRSSign",
    "crSat",
    "crUPSSign",
    "crUnpackSign",
)
STATUS_REGISTERS = (
    "srCarry",
    "srCompr_uf",
    "srF2FFlags",
    "srF2IFlags",
    "srFPFlags",
    "srMS0",
    "srSRS_of",
    "srSS0",
    "srSparse_of",
    "srUPS_of",
)
ADDRESS_FAMILIES = ("p", "m", "dn", "dj", "dc")

_VECTOR_LANE = 32
"""Vector registers are read as lanes of this width unless a meaning asks for another."""


@cache
def registers() -> dict[str, Register]:
    """All registers by name."""
    return {register.name: register for register in _layout()}


@cache
def register(name: str) -> Register:
    """The register of this name; KeyError where there is none."""
    return registers()[name]


@cache
def file_size() -> int:
    """Bytes of the flat register file."""
    return max(r.offset + r.size for r in registers().values())


def _layout() -> Iterator[Register]:
    offset = 0

    def cell(name: str, type_: Type, size: int) -> Register:
        nonlocal offset
        offset = (offset + size - 1) // size * size
        made = Register(name, type_, offset, size, (offset,))
        offset += size
        return made

    def align(size: int) -> None:
        """Compiled code takes a whole register at once, so its parts must not begin anywhere."""
        nonlocal offset
        offset = (offset + size - 1) // size * size

    def group(name: str, type_: Type, parts: list[Register]) -> Register:
        cells = tuple(c for part in parts for c in part.cells)
        return Register(name, type_, parts[0].offset, sum(part.size for part in parts), cells)

    general = [cell(f"r{i}", I32, 4) for i in range(32)]
    yield from general
    for i in range(8):  # l0 is r17:r16, l7 is r31:r30
        yield group(f"l{i}", I64, general[16 + 2 * i : 18 + 2 * i])
    for family in ADDRESS_FAMILIES:
        for i in range(8):
            yield cell(f"{family}{i}", I20, 4)
    for name in ("LS", "LE", "lr", "SP", "DP"):
        yield cell(name, I20, 4)
    yield cell("LC", I32, 4)
    yield cell("CORE_ID", I32, 4)
    for i in range(4):
        yield cell(f"s{i}", I32, 4)
    for name in (*CONTROL_REGISTERS, *STATUS_REGISTERS):
        yield cell(name, I32, 4)
    for i in range(4):
        align(16)
        masks = [cell(f"{half}{i}", Type(_VECTOR_LANE, 2), 8) for half in ("ql", "qh")]
        yield from masks
        yield group(f"q{i}", Type(_VECTOR_LANE, 4), masks)

    x: list[Register] = []
    for i in range(12):
        align(64)
        halves = [cell(f"{half}{i}", Type(_VECTOR_LANE, 8), 32) for half in ("wl", "wh")]
        yield from halves
        x.append(group(f"x{i}", Type(_VECTOR_LANE, 16), halves))
    yield from x
    for i in range(2, 6):
        yield group(f"y{i}", Type(_VECTOR_LANE, 32), x[2 * i : 2 * i + 2])
    for i in range(9):
        align(64)
        quarters = [cell(f"am{part}{i}", Type(_VECTOR_LANE, 8), 32) for part in ("ll", "lh", "hl", "hh")]
        yield from quarters
        yield group(f"bml{i}", Type(_VECTOR_LANE, 16), quarters[:2])
        yield group(f"bmh{i}", Type(_VECTOR_LANE, 16), quarters[2:])
        yield group(f"cm{i}", Type(_VECTOR_LANE, 32), quarters)
