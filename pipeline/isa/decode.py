"""Program memory to bundles.

A slot word is an instruction when the fixed bits match and every register code names a register. The
second half matters: of the words in real programs about one in fifteen matches the fixed bits of
several opcodes (facts 1.7), and only operand validity makes it one. Words and bundles repeat a lot, so
both are cached by their bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache

from ..errors import ArtifactError
from .bundle import Bundle, SlotInstruction
from .table import BundleFormat, Opcode, table

ARTIFACT = "program memory"

# A word of code or data that an attacker chose must not grow the caches without bound.
_CACHED_WORDS = 1 << 16


def decode_bundle(code: bytes | bytearray | memoryview, address: int) -> Bundle:
    """The bundle at `address` of `code`.

    Raises ArtifactError(artifact="program memory", offset=address) where the address is outside or odd,
    the bundle reaches past the end, or a slot's word is no instruction.
    """
    if not 0 <= address < len(code):
        raise _error(f"address {address:#x} is outside the {len(code)} bytes of code", address)
    size = bundle_size(code[address])
    if address + size > len(code):
        raise _error(f"a bundle of {size} bytes reaches past the end of the code", address)
    word = int.from_bytes(code[address : address + size], "little")
    decoded = _decode(word, size)
    if isinstance(decoded, str):
        raise _error(decoded, address)
    return Bundle(address, size, *decoded)


def decode_bundles(
    code: bytes | bytearray | memoryview, start: int = 0, end: int | None = None
) -> Iterator[Bundle]:
    """Bundles one after the other from `start` until `end` (default: the end of the code)."""
    stop = len(code) if end is None else end
    address = start
    while address < stop:
        bundle = decode_bundle(code, address)
        yield bundle
        address = bundle.end


def bundle_size(first_byte: int) -> int:
    """Bytes of the bundle that begins with this byte (facts 1.1: a prefix code in the low bits)."""
    if not first_byte & 1:
        return 16
    if first_byte & 0b111 == 0b101:
        return 6
    return _SIZES[first_byte & 0b1111]


_SIZES = {0b0001: 2, 0b0011: 8, 0b0111: 12, 0b1001: 4, 0b1011: 10, 0b1111: 14}


@lru_cache(maxsize=_CACHED_WORDS)
def decode_slot(slot: str, word: int) -> SlotInstruction | str:
    """The one instruction that a slot's word is, or a text that says why it is none."""
    found: list[SlotInstruction] = []
    for mask, by_value in _opcode_index()[slot]:
        for opcode in by_value.get(word & mask, ()):
            instruction = _match(opcode, word)
            if instruction is not None:
                found.append(instruction)
    if len(found) == 1:
        return found[0]
    if not found:
        return f"unknown instruction {word:#x} in slot {slot}"
    names = ", ".join(instruction.opcode.name for instruction in found)
    return f"instruction {word:#x} in slot {slot} is ambiguous: {names}"


def _match(opcode: Opcode, word: int) -> SlotInstruction | None:
    operands: dict[str, str | int] = {}
    for operand in opcode.operands:
        value = operand.extract(word)
        if value is None:
            return None
        operands[operand.name] = value
    return SlotInstruction(opcode, operands)


@lru_cache(maxsize=_CACHED_WORDS)
def _decode(word: int, size: int) -> tuple[str, tuple[SlotInstruction, ...]] | str:
    for candidate in _format_index()[size]:
        if word & candidate.mask == candidate.value:
            break
    else:
        return f"no format of {size} bytes fits {word:#x}"
    widths = table().slot_widths
    slots: list[SlotInstruction] = []
    for slot, offset in candidate.offsets.items():
        if slot == "nop":
            continue
        instruction = decode_slot(slot, word >> offset & ((1 << widths[slot]) - 1))
        if isinstance(instruction, str):
            return instruction
        if not instruction.opcode.is_nop:
            slots.append(instruction)
    return candidate.name, tuple(slots)


@cache
def _opcode_index() -> dict[str, list[tuple[int, dict[int, list[Opcode]]]]]:
    """slot -> for each mask that occurs: the mask, and the opcodes by value."""
    index: dict[str, dict[int, dict[int, list[Opcode]]]] = {slot: {} for slot in table().slot_widths}
    for opcode in table().opcodes:
        index[opcode.slot].setdefault(opcode.mask, {}).setdefault(opcode.value, []).append(opcode)
    return {slot: list(by_mask.items()) for slot, by_mask in index.items()}


@cache
def _format_index() -> dict[int, list[BundleFormat]]:
    index: dict[int, list[BundleFormat]] = {}
    for candidate in table().formats:
        index.setdefault(candidate.size_bytes, []).append(candidate)
    return index


def _error(message: str, address: int) -> ArtifactError:
    return ArtifactError(message, artifact=ARTIFACT, offset=address)
