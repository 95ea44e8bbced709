"""Instruction streams of any kind, as text or binary, told apart by content: file names lie.

mlir-aie wrote one 8-digit hex word per line until about Feb 2025 and raw little-endian words since; public
projects call both "insts.txt". facts/formats.md section 3.
"""

from __future__ import annotations

import re
import struct

from ..npu.limits import WORD_BYTES
from . import lx6, txn
from .lx6 import Lx6Stream
from .reader import WRONG_LENGTH, Reader, pack_words, unpack_words
from .txn import Transaction

InstructionStream = Transaction | Lx6Stream

_TEXT = re.compile(rb"[\s0-9a-fA-FxX]+\Z")
_DIGITS = 2 * WORD_BYTES
_WORD = re.compile(rb"(?:0[xX])?([0-9a-fA-F]{1,8})\Z")


def parse_instructions(data: bytes) -> InstructionStream:
    """Reads a stream, text or binary, TXN or lx6. Raises ArtifactError."""
    words = to_binary(data)
    if lx6.is_lx6(words):
        return lx6.parse(words)
    if not txn.is_transaction(words):
        start = f"it begins with {words[:4].hex(' ')}" if words else "it is empty"
        Reader(words, "instruction stream").fail(
            f"neither a TXN nor an lx6 instruction stream: {start}",
            0,
            remedy="give the file that the compiler wrote beside the xclbin (insts.txt, insts.bin)",
        )
    return txn.parse(words)


def is_text(data: bytes) -> bool:
    """Whether `data` is a stream written as hex words: nothing but hex digits and white space."""
    return bool(data.strip()) and _TEXT.match(data) is not None


def to_binary(data: bytes) -> bytes:
    """The stream's bytes, from text or binary. Raises ArtifactError for a word of more than 8 digits.

    So for a last one of fewer digits than all others: a file that was cut in it would give another value.
    """
    if not is_text(data):
        return data
    words: list[int] = []
    widths: list[int] = []
    for match in re.finditer(rb"\S+", data):
        word = _WORD.match(match.group())
        if word is None:
            text = match.group()[:40].decode("ascii")
            Reader(data, "instruction stream").fail(f"{text!r} is not a 32-bit hex word", match.start())
        words.append(int(word.group(1), 16))
        widths.append(len(word.group(1)))
    if set(widths[:-1]) == {_DIGITS} and widths[-1] < _DIGITS:
        at = len(data.rstrip()) - widths[-1]
        message = f"the last word has {widths[-1]} digits, all others {_DIGITS}"
        Reader(data, "instruction stream").fail(message, at, remedy=WRONG_LENGTH)
    return pack_words(words)


def first_words(data: bytes) -> bytes:
    """The first two words of a stream, text or binary; fewer where there are none."""
    if not is_text(data):
        return data[:8]
    words = (_WORD.match(text) for text in data[:64].split()[:2])
    return pack_words(int(word.group(1), 16) for word in words if word)


def to_text(stream: InstructionStream | bytes) -> str:
    """A stream as mlir-aie wrote it to insts.txt: one upper-case hex word per line."""
    data = stream if isinstance(stream, bytes) else stream.encode()
    words = unpack_words(data)
    digits = struct.pack(f">{len(words)}I", *words).hex("\n", WORD_BYTES).upper()
    return f"{digits}\n" if data else ""
