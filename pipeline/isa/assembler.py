"""A program of assembly statements to program memory.

    image = assemble([
        Statement("movxm ls, #body"), Statement("movxm le, #last"), Statement("mov lc, r1"),
        Label("body"), Statement("lda r2, [p0], #4"), Statement("add r0, r0, r2"), LoopEnd("last"),
        Statement("done"),
    ])

Statements mean what they would mean one after the other: the assembler puts them into bundles, keeps
latencies within and between blocks, fills delay slots, aligns, and resolves labels. A `BundleStatement`
is taken as it stands, for loops that are software-pipelined by hand; the code around it still waits for
what it needs.

Rules that it keeps (facts/aie2-isa.md 2.2, 2.3): five delay slots; branch targets and return addresses
on 16 bytes; the first bundle of a zero-overhead loop, its last and the one after it on 16 bytes, the
last of 16 bytes, without a partial-word store and at least 112 bytes after the last bundle that writes
ls, le or lc; loads and stores four bundles from lock operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import ArtifactError
from .assembly import parse_statement
from .blocks import Blocks, Section
from .layout import lay_out
from .schedule import Item


@dataclass(frozen=True, slots=True)
class Label:
    """A place in the program. Branch to it, or take its address with movxm."""

    name: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One instruction, to be scheduled.

    `memory` names the region that a load or store touches: two different names never overlap, None
    overlaps with all. `comment` goes into the listing.
    """

    text: str
    comment: str = ""
    memory: str | None = None


@dataclass(frozen=True, slots=True)
class BundleStatement:
    """Instructions that issue together, as written; none, or "nop", is an empty bundle.

    Consecutive ones stay consecutive. `size` sets the bytes, else the smallest format or what alignment
    asks for. A branch here has its five delay slots written out after it.
    """

    texts: tuple[str, ...]
    comment: str = ""
    size: int | None = None
    memory: str | None = None

    def __init__(
        self, texts: Iterable[str], comment: str = "", size: int | None = None, memory: str | None = None
    ) -> None:
        object.__setattr__(self, "texts", tuple(texts))
        object.__setattr__(self, "comment", comment)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "memory", memory)


@dataclass(frozen=True, slots=True)
class LoopEnd:
    """The end of a zero-overhead loop's body: `name` becomes the address of its last bundle.

    `start` is the label of the body's first bundle. The code before the loop sets ls to `start`, le to
    `name` and lc to the number of passes (at least 1).
    """

    name: str
    start: str


ProgramStatement = Label | Statement | BundleStatement | LoopEnd


@dataclass(frozen=True, slots=True)
class CodeImage:
    """Machine code from address 0, the labels' byte addresses, and one line of text per bundle."""

    code: bytes
    labels: Mapping[str, int]
    listing: tuple[str, ...]


def assemble(statements: Iterable[ProgramStatement], *, base: int = 0) -> CodeImage:
    """The program's code, to be placed at byte address `base` (a multiple of 16) of program memory.

    Raises ArtifactError(artifact="assembly") for a statement that is no instruction, an unknown or
    repeated label, a branch without its delay slots, or code that cannot be placed.
    """
    if base % 16:
        raise ArtifactError(f"the base address {base:#x} is not a multiple of 16", artifact="assembly")
    sections: list[Section] = [Section()]
    for statement in statements:
        _add(sections, statement)
    blocks = Blocks(sections)
    blocks.schedule()
    code, labels, listing = lay_out(blocks, base)
    return CodeImage(code, labels, tuple(listing))


def _add(sections: list[Section], statement: ProgramStatement) -> None:
    """Appends to the last section, or begins a new one where the statement does."""
    match statement:
        case Label(name):
            if not sections[-1].empty:
                sections.append(Section())
            sections[-1].labels.append(name)
        case LoopEnd(name, start):
            sections[-1].loop_end = name
            sections[-1].loop_start = start
            sections.append(Section())
        case Statement(text, comment, memory):
            item = Item(parse_statement(text), memory, comment)
            if sections[-1].bundles:
                sections.append(Section())
            sections[-1].items.append(item)
            if item.control is not None:
                sections.append(Section())
        case BundleStatement(texts, comment, size, memory):
            items = [Item(parse_statement(text), memory, comment) for text in texts if text.strip() != "nop"]
            if sections[-1].items or sections[-1].ends_with_delay_slots:
                sections.append(Section())
            sections[-1].add_bundle(items, size, comment)
