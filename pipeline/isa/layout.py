"""Scheduled blocks to bytes: bundle sizes that give the alignment, addresses, labels, listing.

A bundle may be written longer than it needs, the rest of its slots being nops; that costs no time, so
alignment is had by choosing sizes. Every bundle has a form of 16 bytes, so it can always be had.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ArtifactError
from . import assembly
from .blocks import LOOP_SETUP_BUNDLES, Blocks, instruction_with
from .bundle import SlotInstruction
from .effects import effects
from .encode import bundle_sizes, encode_bundle
from .schedule import LOOP_REGISTERS, Placed

ALIGNMENT = 16


@dataclass(slots=True)
class _Line:
    """One bundle on its way to memory."""

    block: int
    placed: list[Placed]
    sizes: tuple[int, ...]
    comment: str
    aligned: bool = False
    loop_end: str | None = None
    address: int = 0
    size: int = 0


def lay_out(blocks: Blocks, base: int) -> tuple[bytes, dict[str, int], list[str]]:
    """Code, label addresses, and a listing: a line per bundle, and one per label before it."""
    lines = _lines(blocks)
    _choose_sizes(lines)
    address = base
    for line in lines:
        line.address = address
        address += line.size
    labels = _labels(blocks, lines, address)
    code = bytearray()
    listing: list[str] = []
    names: dict[int, list[str]] = {}
    for name, where in labels.items():
        names.setdefault(where, []).append(name)
    for line in lines:
        instructions = [_resolved(placed, labels) for placed in line.placed]
        code += encode_bundle(instructions, size=line.size)
        listing += [f"{name}:" for name in names.get(line.address, ())]
        text = "; ".join(assembly.print(instruction) for instruction in instructions) or "nop"
        comments = [placed.item.comment for placed in line.placed if placed.item is not None]
        comment = ", ".join(dict.fromkeys(part for part in [line.comment, *comments] if part))
        listing.append(f"{line.address:#06x} {line.size:3}  {text}" + (f"  // {comment}" if comment else ""))
    return bytes(code), labels, listing


def _resolved(placed: Placed, labels: dict[str, int]) -> SlotInstruction:
    symbol = placed.item.parsed.symbol if placed.item is not None else None
    return instruction_with(placed.instruction, symbol, labels[symbol.label] if symbol is not None else 0)


def _lines(blocks: Blocks) -> list[_Line]:
    lines: list[_Line] = []
    aligned = blocks.aligned()
    align_next = True
    for index, section in enumerate(blocks.sections):
        block = blocks.block(index)
        align_next |= aligned[index]
        for time in range(block.length):
            placed = block.bundle(time)
            sizes = bundle_sizes(entry.instruction.opcode.slot for entry in placed)
            comment = ""
            if time < len(section.sizes):
                comment = section.comments[time]
                fixed = section.sizes[time]
                sizes = sizes if fixed is None else (fixed,)
            lines.append(_Line(index, placed, sizes, comment, aligned=align_next))
            align_next = False
        if section.loop_end is not None:
            last = lines[-1]
            last.loop_end = section.loop_end
            last.aligned = True
            _check_loop_end(last)
            last.sizes = (ALIGNMENT,)
    return lines


def _check_loop_end(line: _Line) -> None:
    """The hardware can lose a partial-word store in a loop's last bundle (facts 2.3)."""
    if ALIGNMENT not in line.sizes:
        raise ArtifactError(f"the last bundle of {line.loop_end!r} must have 16 bytes", artifact="assembly")
    if any(effects(entry.instruction).partial_store for entry in line.placed):
        raise ArtifactError(
            f"a partial-word store stands in the last bundle of {line.loop_end!r}", artifact="assembly"
        )


def _choose_sizes(lines: list[_Line]) -> None:
    """Sizes such that every aligned bundle begins on 16 bytes, and loops are far enough from their setup."""
    for position, line in enumerate(lines):
        if line.loop_end is not None:
            _keep_setup_apart(lines, position)
    start = 0
    for position in range(1, len(lines) + 1):
        if position == len(lines) or lines[position].aligned:
            run = lines[start:position]
            chosen = _aligned_sizes([line.sizes for line in run], exact=position < len(lines))
            if chosen is None:
                raise ArtifactError(
                    f"bundles of fixed size do not end on {ALIGNMENT} bytes", artifact="assembly"
                )
            for line, size in zip(run, chosen, strict=True):
                line.size = size
            start = position


def _keep_setup_apart(lines: list[_Line], end: int) -> None:
    """Makes it 112 bytes from the bundle that writes ls, le or lc last to the loop's last bundle."""
    begin = end - 1
    while begin >= 0 and not any(
        write.register in LOOP_REGISTERS
        for placed in lines[begin].placed
        for write in effects(placed.instruction).writes
    ):
        begin -= 1
    between = lines[max(begin, 0) : end]
    least = LOOP_SETUP_BUNDLES * ALIGNMENT
    if begin < 0 or sum(line.sizes[0] for line in between) >= least:
        return
    for line in between:
        line.sizes = line.sizes[-1:]
    if sum(line.sizes[0] for line in between) < least:
        raise ArtifactError(
            f"ls, le or lc is written less than {least} bytes before the end of {lines[end].loop_end!r}",
            artifact="assembly",
        )


def _aligned_sizes(choices: list[tuple[int, ...]], *, exact: bool) -> list[int] | None:
    """One size per bundle with the least sum, a multiple of 16 where `exact`; None where there is none."""
    best: dict[int, tuple[int, list[int]]] = {0: (0, [])}
    for sizes in choices:
        reached: dict[int, tuple[int, list[int]]] = {}
        for total, chosen in best.values():
            for size in sizes:
                key = (total + size) % ALIGNMENT
                if key not in reached or reached[key][0] > total + size:
                    reached[key] = (total + size, [*chosen, size])
        best = reached
    if exact:
        return best[0][1] if 0 in best else None
    return min(best.values(), key=lambda entry: entry[0])[1]


def _labels(blocks: Blocks, lines: list[_Line], end: int) -> dict[str, int]:
    first: dict[int, int] = {}
    for line in lines:
        first.setdefault(line.block, line.address)
    labels: dict[str, int] = {}
    following = end
    for index in reversed(range(len(blocks.sections))):
        following = first.get(index, following)
        labels.update((name, following) for name in blocks.sections[index].labels)
    labels.update((line.loop_end, line.address) for line in lines if line.loop_end is not None)
    return dict(sorted(labels.items(), key=lambda entry: entry[1]))
