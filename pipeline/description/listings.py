"""Listings: the programs of cores, a bundle to a line."""

from __future__ import annotations

from dataclasses import dataclass

from .array import Tile


@dataclass(frozen=True, slots=True)
class SlotText:
    """The instruction in one slot of a bundle, as assembly; nops that the format has are there, too.

    A long instruction takes the slots alu and mv and stands in "alu"; the bundle of two bytes is slot "nop".
    """

    slot: str
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A bundle, or data where `slots` is empty: bytes that are no instruction, or zeros nobody reaches.

    `labels` name the address. `delay_slot` is 1 to 5 after a branch. `loop` is "start", "end" or "start end"
    of a zero-overhead loop. `comment` says what the text does not: the symbol an address is, why data.
    """

    address: int
    raw: bytes
    slots: tuple[SlotText, ...]
    labels: tuple[str, ...] = ()
    reachable: bool = True
    delay_slot: int | None = None
    loop: str = ""
    comment: str = ""

    @property
    def size_bytes(self) -> int:
        return len(self.raw)


@dataclass(frozen=True, slots=True)
class Program:
    """The program memory of one core. `core` is None in an ELF, `origin` says where the code comes from."""

    core: Tile | None
    origin: str
    size_bytes: int
    entry: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """What `aiepipe disasm` found in a file."""

    file: str
    kind: str
    programs: tuple[Program, ...]
