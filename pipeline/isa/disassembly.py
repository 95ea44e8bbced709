"""Program memory as text, and back.

One bundle per line, one column per slot, slot nops written out, so that a line says which format the
bundle has and `reassemble` gives the same bytes. Branch targets are labels. Where an instruction has
bits that it ignores and that are not zero, its slot's word follows (`padda [p0], #4 =0x...`). Bytes
that are no bundle are `.byte` lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import ArtifactError
from . import assembly
from .bundle import Bundle, SlotInstruction
from .decode import decode_bundle, decode_slot
from .encode import bundle_format, encode_slot, encode_words
from .table import BundleFormat, table

# Columns in the order of the public assembler's listings; a long instruction stands in alu's.
COLUMNS = ("lda", "ldb", "st", "alu", "mv", "vec")
SHORT_NOP = "nop"

# Before the slot's bits where the instruction ignores some and they are not zero.
_WORD = "="

# Operands whose value is an address in program memory.
_TARGETS = ("cpmaddr",)
_LOOP_REGISTERS = ("LS", "LE")


@dataclass(frozen=True, slots=True)
class Line:
    """One bundle, or two bytes that are none: then `bundle` is None."""

    address: int
    raw: bytes
    bundle: Bundle | None
    columns: Mapping[str, str]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Disassembly:
    """All lines of a piece of program memory."""

    lines: tuple[Line, ...]

    @property
    def raw_bytes(self) -> int:
        """How many bytes are no bundle."""
        return sum(len(line.raw) for line in self.lines if line.bundle is None)

    def text(self) -> str:
        """The listing: labels on lines of their own, slots in columns."""
        widths = {
            slot: max((len(line.columns.get(slot, "")) for line in self.lines), default=0) for slot in COLUMNS
        }
        rows: list[str] = []
        for line in self.lines:
            rows += [f"{label}:" for label in line.labels]
            if line.bundle is None:
                rows.append(f"{line.address:#06x}  .byte " + ", ".join(f"{byte:#04x}" for byte in line.raw))
                continue
            cells = [
                (f"{line.columns[slot]} ;" if slot in line.columns else "").ljust(widths[slot] + 2)
                for slot in COLUMNS
            ]
            row = " ".join(cells).rstrip().removesuffix(";").rstrip()
            rows.append(f"{line.address:#06x}  {row or SHORT_NOP}")
        return "\n".join(rows) + "\n"


@dataclass(frozen=True, slots=True)
class _Slot:
    """One instruction of a listing's bundle; `word` where the listing gives the bits."""

    name: str
    parsed: assembly.Parsed | None
    word: int | None = None


def disassemble(
    code: bytes | bytearray | memoryview,
    *,
    base: int = 0,
    symbols: Mapping[int, str] | None = None,
    entries: Iterable[int] = (),
) -> Disassembly:
    """The code that lies at byte address `base` of program memory, from its first byte on.

    `symbols` names addresses. `entries` are addresses at which a bundle begins whatever comes before,
    so that data in between does not put what follows out of step.
    """
    data = bytes(code)
    names = dict(symbols or {})
    starts = {address - base for address in [*entries, *names]}
    bundles: list[tuple[int, bytes, Bundle | None]] = []
    offset = 0
    while offset < len(data):
        bundle = _bundle(data, offset, starts)
        size = 2 if bundle is None else bundle.size
        bundles.append((offset, data[offset : offset + size], bundle))
        offset += size
    begins = {base + offset for offset, _, _ in bundles}
    for _, _, bundle in bundles:
        for target in _targets(bundle):
            if target in begins:
                names.setdefault(target, f"L_{target:04x}")
    return Disassembly(
        tuple(
            Line(
                base + offset,
                raw,
                bundle,
                {} if bundle is None else _columns(bundle, raw, names),
                (names[base + offset],) if base + offset in names else (),
            )
            for offset, raw, bundle in bundles
        )
    )


def reassemble(text: str) -> bytes:
    """The bytes of a listing. Raises ArtifactError(artifact="assembly") for a line that is none."""
    rows: list[tuple[bytes, list[_Slot]]] = []
    labels: dict[str, int] = {}
    pending: list[str] = []
    offset = 0
    base: int | None = None
    for line in text.splitlines():
        content = line.partition("//")[0].strip()
        label = re.fullmatch(r"([\w.$]+):", content)
        if label is not None:
            pending.append(label[1])
            continue
        if not content:
            continue
        prefix = re.match(r"(0x[0-9a-fA-F]+)\s+", content)
        if prefix is not None:
            content = content[prefix.end() :]
            base = int(prefix[1], 16) - offset if base is None else base
        raw, statements = _read(content)
        labels.update((name, offset) for name in pending)
        pending = []
        rows.append((raw, statements))
        offset += len(raw) or len(_encode(statements, None))
    addresses = {name: (base or 0) + where for name, where in labels.items()}
    return b"".join(raw or _encode(statements, addresses) for raw, statements in rows)


def _bundle(data: bytes, offset: int, starts: set[int]) -> Bundle | None:
    try:
        bundle = decode_bundle(data, offset)
    except ArtifactError:
        return None
    if not starts.isdisjoint(range(offset + 1, bundle.end)):
        return None
    raw = data[offset : bundle.end]
    return bundle if encode_words(slot_words(bundle, raw), _format(bundle)) == raw else None


def slot_words(bundle: Bundle, raw: bytes) -> dict[str, int]:
    """The bits of each slot of a bundle, nops included."""
    widths = table().slot_widths
    value = int.from_bytes(raw, "little")
    return {
        slot: value >> offset & ((1 << widths[slot]) - 1)
        for slot, offset in _format(bundle).offsets.items()
        if slot in widths
    }


def _format(bundle: Bundle) -> BundleFormat:
    return bundle_format((), name=bundle.format)


def _targets(bundle: Bundle | None) -> list[int]:
    found: list[int] = []
    for instruction in bundle.slots if bundle is not None else ():
        name = _target_operand(instruction)
        if name is not None:
            found.append(instruction.immediate(name))
    return found


def _target_operand(instruction: SlotInstruction) -> str | None:
    """The operand that is an address in program memory: a branch's, or what goes to ls and le."""
    for operand in instruction.opcode.operands:
        if operand.name in _TARGETS:
            return operand.name
    if instruction.opcode.name == "MOVXM_lng_cg" and instruction.operands["mMvSclDstCg"] in _LOOP_REGISTERS:
        return "i"
    return None


def _columns(bundle: Bundle, raw: bytes, names: Mapping[int, str]) -> dict[str, str]:
    columns: dict[str, str] = {}
    by_slot = {instruction.opcode.slot: instruction for instruction in bundle.slots}
    for slot, word in slot_words(bundle, raw).items():
        instruction = by_slot.get(slot) or _slot_nop(slot)
        text = assembly.print(instruction)
        operand = _target_operand(instruction)
        if operand is not None and instruction.immediate(operand) in names:
            target = instruction.immediate(operand)
            text = text.removesuffix(str(target)) + names[target]
        if encode_slot(instruction) != word:
            text += f" {_WORD}{word:#x}"
        columns["alu" if slot == "lng" else slot] = text
    if columns and "nop" in _format(bundle).offsets:
        columns["mv"] = SHORT_NOP  # the eight-byte form of a long instruction has one bit to spare
    return columns


def _slot_nop(slot: str) -> SlotInstruction:
    instruction = decode_slot(slot, table().nops[slot].value)
    if isinstance(instruction, str):
        raise AssertionError(instruction)
    return instruction


def _read(content: str) -> tuple[bytes, list[_Slot]]:
    if content.startswith(".byte"):
        try:
            return bytes(int(part, 0) for part in content.removeprefix(".byte").split(",")), []
        except ValueError as error:
            raise ArtifactError(f"{content!r}: not bytes", artifact="assembly") from error
    return b"", [_statement(part.strip()) for part in content.split(";")]


def _statement(text: str) -> _Slot:
    if text == SHORT_NOP:
        return _Slot("nop", None)
    text, _, word = text.partition(_WORD)
    parsed = assembly.parse_statement(text)
    if not word:
        return _Slot(parsed.alternatives[0].opcode.slot, parsed)
    try:
        return _Slot(parsed.alternatives[0].opcode.slot, parsed, int(word, 0))
    except ValueError as error:
        raise ArtifactError(f"{word!r} is no slot word", artifact="assembly") from error


def _encode(slots: list[_Slot], addresses: Mapping[str, int] | None) -> bytes:
    """One bundle. Without addresses, only its size is right."""
    words: dict[str, int] = {}
    for slot in slots:
        if slot.parsed is None:
            continue
        instruction, symbol = slot.parsed.alternatives[0], slot.parsed.symbol
        if symbol is not None and addresses is not None:
            if symbol.label not in addresses:
                raise ArtifactError(f"label {symbol.label!r} is not defined", artifact="assembly")
            operands = {**instruction.operands, symbol.operand: addresses[symbol.label]}
            instruction = SlotInstruction(instruction.opcode, operands)
        word = encode_slot(instruction)
        if slot.word is not None:
            if symbol is None and decode_slot(slot.name, slot.word) != instruction:
                raise ArtifactError(f"{slot.word:#x} is not {slot.parsed.text!r}", artifact="assembly")
            word = slot.word
        words[slot.name] = word
    return encode_words(words, bundle_format(slot.name for slot in slots))
