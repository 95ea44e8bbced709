"""CDO: the list of register writes that configures the array (AMD's Configuration Data Object).

A file is a header of five words and commands. `parse` and `Cdo.encode` are inverse, byte for byte;
`Cdo.for_files` and `join` write the two forms that AMD's tools do: the padded 64-bit form of aie-rt's
CDO driver, and the compact form of bootgen inside a PDI. Sources: AMD bootgen and XRT's
aie-pdi-transform (the loader's own reader), checked against real files (facts/formats.md section 2.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from .reader import WRONG_LENGTH, Reader, ones_complement_sum, pack_words, unpack_words

HEADER_WORDS = 5
HEADER_BYTES = 4 * HEADER_WORDS
IDENTIFICATION = 0x004F4443  # "CDO\0"
VERSION = 0x200
REMAINING_HEADER_WORDS = 4

_HANDLER_PLM = 1
_LONG_FORM = 255  # as payload length in the command word: the real length is in the next word
_API_MASK_POLL, _API_MASK_WRITE, _API_WRITE, _API_DMA_WRITE = 0x01, 0x02, 0x03, 0x05
_API_MASK_POLL64, _API_MASK_WRITE64, _API_WRITE64, _API_NOP = 0x06, 0x07, 0x08, 0x11
_API_END = (0x00, 0xFF)


@dataclass(frozen=True, slots=True)
class Write:
    """One register. `wide` is the form with a 64-bit address. CDO WRITE, WRITE64."""

    address: int
    value: int
    wide: bool = False
    name: ClassVar[str] = "WRITE"


@dataclass(frozen=True, slots=True)
class MaskWrite:
    """register = (register & ~mask) | (value & mask). CDO MASK_WRITE, MASK_WRITE64."""

    address: int
    mask: int
    value: int
    wide: bool = False
    name: ClassVar[str] = "MASK_WRITE"


@dataclass(frozen=True, slots=True)
class DmaWrite:
    """`data` (a multiple of 4 bytes) to consecutive addresses. CDO DMA_WRITE.

    `long_form` is None for the form that the length asks for.
    """

    address: int
    data: bytes
    long_form: bool | None = None
    name: ClassVar[str] = "DMA_WRITE"


@dataclass(frozen=True, slots=True)
class MaskPoll:
    """Waits until register & mask == value. aie-rt's driver emits it, npu1's firmware refuses it."""

    address: int
    mask: int
    value: int
    timeout_ms: int
    wide: bool = False
    name: ClassVar[str] = "MASK_POLL"


@dataclass(frozen=True, slots=True)
class Nop:
    """Ignored words; the tools use it to align the data of the next DMA_WRITE."""

    payload: bytes = b""
    long_form: bool | None = None
    name: ClassVar[str] = "NOP"


@dataclass(frozen=True, slots=True)
class End:
    """A marker (api 0x00 or 0xFF) that neither tools write nor firmware takes."""

    api: int = 0xFF
    name: ClassVar[str] = "END"


Command = Write | MaskWrite | DmaWrite | MaskPoll | Nop | End


@dataclass(frozen=True, slots=True)
class Cdo:
    """Commands in order. Addresses are column << 25 | row << 20 | offset, columns of the partition."""

    commands: tuple[Command, ...]

    def encode(self) -> bytes:
        """The file. Raises ValueError where a value does not fit its words."""
        return _with_header(pack_words(word for command in self.commands for word in _words(command)))

    def for_file(self, *, first_nop: bool = True) -> Cdo:
        """The same as aie-rt's CDO driver writes it to a file: 64-bit addresses, an empty NOP first (not
        before mid 2024), and the data of each DMA_WRITE at a multiple of 16 bytes in the file."""
        body: list[int] = []
        commands: list[Command] = []
        for command in (*(Nop(),) * first_nop, *self.commands):
            wide = (
                replace(command, wide=True) if isinstance(command, Write | MaskWrite | MaskPoll) else command
            )
            commands.extend(_append_aligned(body, wide, alignment_word=0))
        return Cdo(tuple(commands))


def is_cdo(data: bytes) -> bool:
    """Whether `data` begins like a CDO file."""
    return data[4:8] == IDENTIFICATION.to_bytes(4, "little")


def parse(data: bytes, *, base: int = 0) -> Cdo:
    """Reads a CDO file (exactly: nothing may follow). `base` is its place in a larger file, for errors.

    Raises ArtifactError.
    """
    reader = Reader(data, "CDO", base=base)
    length = body_length(reader)
    end = 4 * (HEADER_WORDS + length)
    if len(data) != end:
        reader.fail(f"the header says {end} bytes, there are {len(data)}", 12, remedy=WRONG_LENGTH)
    return Cdo(tuple(_commands(reader, end)))


def command_bytes(command: Command) -> int:
    """How long a command is in a file."""
    return 4 * len(_words(command))


def body_length(reader: Reader) -> int:
    """Checks the header at the reader's start; the words that follow it."""
    words = reader.words(0, HEADER_WORDS, "the CDO header")
    if words[1] != IDENTIFICATION:
        reader.fail(f"no CDO here: the identification word is {words[1]:#010x}, not 'CDO'", 4)
    if words[0] != REMAINING_HEADER_WORDS or words[2] != VERSION:
        reader.fail(f"CDO header of {words[0]} words, version {words[2]:#x}; known is 4, {VERSION:#x}", 0)
    if words[4] != ones_complement_sum(words[:4]):
        reader.fail(f"CDO header checksum {words[4]:#010x}, not {ones_complement_sum(words[:4]):#010x}", 16)
    return words[3]


def join(files: Sequence[Cdo]) -> Cdo:
    """One CDO from several files, as bootgen puts them into a PDI.

    Each file is rewritten by itself and the bodies follow one another: addresses below 2^32 in their
    short form, a DMA_WRITE of one word as a WRITE, and before each DMA_WRITE a NOP such that the index of
    its first data word (counted in that file's own output) equals its address in words, modulo 4.
    """
    commands: list[Command] = []
    for file in files:
        body: list[int] = []
        for command in file.commands:
            commands.extend(_append_aligned(body, _compact(command)))
    return Cdo(tuple(commands))


# --------------------------------------------------------------------------- writing


def _with_header(body: bytes) -> bytes:
    head = (REMAINING_HEADER_WORDS, IDENTIFICATION, VERSION, len(body) // 4)
    return pack_words((*head, ones_complement_sum(head))) + body


def _append_aligned(
    body: list[int], command: Command, *, alignment_word: int | None = None
) -> tuple[Command, ...]:
    """Appends the words of `command`, with a NOP before a DMA_WRITE where its data has to be aligned.

    `alignment_word` is the index (modulo 4) that the data has to start at; None: that of its address.
    """
    added: tuple[Command, ...] = (command,)
    if isinstance(command, DmaWrite):
        head = len(_words(command)) - len(command.data) // 4
        wanted = command.address >> 2 if alignment_word is None else alignment_word
        padding = (wanted - (HEADER_WORDS + len(body) + head)) % 4
        if padding:
            added = (Nop(bytes(4 * (padding - 1))), command)
    for entry in added:
        body.extend(_words(entry))
    return added


def _compact(command: Command) -> Command:
    if isinstance(command, Write | MaskWrite | MaskPoll) and command.address < 1 << 32:
        return replace(command, wide=False)
    if isinstance(command, DmaWrite):
        if len(command.data) == 4 and command.address < 1 << 32:
            return Write(command.address, int.from_bytes(command.data, "little"))
        return replace(command, long_form=None)
    return command


def _words(command: Command) -> tuple[int, ...]:
    match command:
        case Write(address, value, wide):
            return _command(_API_WRITE64 if wide else _API_WRITE, (*_address(address, wide), value))
        case MaskWrite(address, mask, value, wide):
            api = _API_MASK_WRITE64 if wide else _API_MASK_WRITE
            return _command(api, (*_address(address, wide), mask, value))
        case MaskPoll(address, mask, value, timeout_ms, wide):
            api = _API_MASK_POLL64 if wide else _API_MASK_POLL
            return _command(api, (*_address(address, wide), mask, value, timeout_ms))
        case DmaWrite(address, data, long_form):
            return _command(_API_DMA_WRITE, (*_address(address, wide=True), *unpack_words(data)), long_form)
        case Nop(payload, long_form):
            return _command(_API_NOP, unpack_words(payload), long_form)
        case End(api):
            return _command(api, ())


def _address(address: int, wide: bool) -> tuple[int, ...]:
    if wide:
        return address >> 32, address & 0xFFFFFFFF
    if address >> 32:
        raise ValueError(f"address {address:#x} needs the 64-bit form of the command")
    return (address,)


def _command(api: int, payload: tuple[int, ...], long_form: bool | None = None) -> tuple[int, ...]:
    head = _HANDLER_PLM << 8 | api
    if long_form if long_form is not None else len(payload) >= _LONG_FORM:
        return head | _LONG_FORM << 16, len(payload), *payload
    return head | len(payload) << 16, *payload


# --------------------------------------------------------------------------- reading


def _commands(reader: Reader, end: int) -> Iterator[Command]:
    offset = 4 * HEADER_WORDS
    while offset < end:
        word = reader.u32(offset, "a CDO command")
        start, length = offset + 4, word >> 16 & 0xFF
        long_form = length == _LONG_FORM
        if long_form:
            length = reader.u32(start, "the length of a CDO command")
            start += 4
        if word >> 24 or word >> 8 & 0xFF != _HANDLER_PLM:
            reader.fail(f"CDO command {word:#010x} is not one of handler {_HANDLER_PLM} (PLM)", offset)
        payload = reader.take(start, 4 * length, f"the {length} words of CDO command {word:#010x}")
        yield _decode(reader, offset, word & 0xFF, payload, long_form)
        offset = start + len(payload)


def _decode(reader: Reader, offset: int, api: int, payload: bytes, long_form: bool) -> Command:
    canonical = None if long_form == (len(payload) // 4 >= _LONG_FORM) else long_form
    if api == _API_NOP:
        return Nop(payload, canonical)
    if api == _API_DMA_WRITE:
        if len(payload) < 8:
            reader.fail("a CDO DMA_WRITE without an address", offset)
        high, low = unpack_words(payload[:8])
        return DmaWrite(high << 32 | low, payload[8:], canonical)
    wide = api in (_API_WRITE64, _API_MASK_WRITE64, _API_MASK_POLL64)
    lengths = {
        **dict.fromkeys((_API_WRITE, _API_WRITE64), 2),
        **dict.fromkeys((_API_MASK_WRITE, _API_MASK_WRITE64), 3),
        **dict.fromkeys((_API_MASK_POLL, _API_MASK_POLL64), 4),
        **dict.fromkeys(_API_END, 0),
    }
    if api not in lengths:
        reader.fail(f"CDO command {api:#x} is not one that configures an NPU", offset)
    words = unpack_words(payload)
    if len(words) != lengths[api] + wide or long_form:
        reader.fail(f"CDO command {api:#x} with {len(words)} words, not {lengths[api] + wide}", offset)
    if api in _API_END:
        return End(api)
    address = words[0] << 32 | words[1] if wide else words[0]
    rest = words[1 + wide :]
    if len(rest) == 1:
        return Write(address, rest[0], wide)
    if len(rest) == 2:
        return MaskWrite(address, rest[0], rest[1], wide)
    return MaskPoll(address, rest[0], rest[1], rest[2], wide)
