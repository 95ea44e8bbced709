"""Bundles to program memory: the inverse of decode.py, from the same table.

Not every slot subset exists in every size (facts 1.3), so a bundle takes the smallest format that has
all slots in use, the rest filled with slot nops. Bits that an instruction ignores are written as zero,
as LLVM's emitter does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

from ..errors import ArtifactError
from .bundle import SlotInstruction
from .table import BundleFormat, table

ARTIFACT = "assembly"


def encode_bundle(
    slots: Sequence[SlotInstruction],
    *,
    size: int | None = None,
    format: str | None = None,  # noqa: A002
) -> bytes:
    """The bundle's bytes, in the smallest format that fits, or of exactly `size` bytes, or in `format`.

    Raises ArtifactError(artifact="assembly") when two instructions want one slot, no format has the
    slots (of that size), or an operand cannot be encoded.
    """
    candidate = bundle_format((entry.opcode.slot for entry in slots), size=size, name=format)
    return encode_words({entry.opcode.slot: encode_slot(entry) for entry in slots}, candidate)


def encode_words(words: Mapping[str, int], bundle: BundleFormat) -> bytes:
    """A bundle from slot words; slots of the format that are not given are nops."""
    nops = table().nops
    value = bundle.value
    for slot, offset in bundle.offsets.items():
        if slot in words:
            value |= words[slot] << offset
        elif slot in nops:
            value |= nops[slot].value << offset
    return value.to_bytes(bundle.size_bytes, "little")


@lru_cache(maxsize=1 << 16)
def encode_slot(instruction: SlotInstruction) -> int:
    """The instruction's slot word. Raises ArtifactError for an operand that cannot be encoded."""
    opcode = instruction.opcode
    word = opcode.value
    for operand in opcode.operands:
        value = instruction.operands.get(operand.name)
        bits = None if value is None else operand.insert(value)
        if bits is None:
            raise ArtifactError(
                f"{opcode.name}: operand {operand.name} cannot be {value!r}", artifact=ARTIFACT
            )
        word |= bits
    return word


def bundle_format(used: Iterable[str], *, size: int | None = None, name: str | None = None) -> BundleFormat:
    """The smallest format with these slots; of `size` bytes or called `name` where that is given."""
    slots = tuple(used)
    found = _smallest(frozenset(slots), size, name) if len(set(slots)) == len(slots) else None
    if found is None:
        wanted = name or ("any size" if size is None else f"{size} bytes")
        raise ArtifactError(f"no bundle of {wanted} holds {'+'.join(slots) or 'nothing'}", artifact=ARTIFACT)
    return found


def bundle_sizes(used: Iterable[str]) -> tuple[int, ...]:
    """The sizes in bytes, ascending, that a bundle with these slots can have; empty when none."""
    return _sizes(frozenset(used))


@cache
def _sizes(used: frozenset[str]) -> tuple[int, ...]:
    fitting = (entry for entry in table().formats if used <= entry.offsets.keys())
    return tuple(sorted({entry.size_bytes for entry in fitting}))


@cache
def _smallest(used: frozenset[str], size: int | None, name: str | None) -> BundleFormat | None:
    fitting = [
        entry
        for entry in table().formats
        if used <= entry.offsets.keys() and size in (None, entry.size_bytes) and name in (None, entry.name)
    ]
    return min(fitting, key=lambda entry: (entry.size_bytes, len(entry.offsets)), default=None)
