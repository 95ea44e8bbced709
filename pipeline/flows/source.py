"""The user's MLIR: from a path or standard input to a name and its text."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from ..errors import CompileError, UsageError

STANDARD_INPUT = "-"
# An MLIR file beyond this is a model with its weights inline; IREE needs many times its size in memory.
LARGEST_SOURCE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class SourceText:
    """The input as given: `file` is the name that messages show."""

    file: str
    text: str


def read_source(name: str) -> SourceText:
    """Reads the MLIR file `name`, or standard input for "-".

    Raises UsageError for a file that is not there, a folder or one that is too large; CompileError for
    bytes that are no text, which no MLIR file can hold.
    """
    file = "<stdin>" if name == STANDARD_INPUT else name
    data = sys.stdin.buffer.read() if name == STANDARD_INPUT else read_input_file(name, LARGEST_SOURCE_BYTES)
    try:
        return SourceText(file, data.decode("utf-8"))
    except UnicodeDecodeError as fault:
        raise CompileError(
            f"not MLIR text: byte {fault.start} is not UTF-8",
            location=file,
            remedy="give the textual form; `iree-opt` prints MLIR bytecode as text",
        ) from fault


def read_input_file(name: str, largest_bytes: int) -> bytes:
    """The bytes of a file that the user names. Raises UsageError where it cannot be read."""
    path = Path(name)
    try:
        if path.is_dir():
            raise UsageError(f"{name} is a folder, not a file")
        if path.is_file() and path.stat().st_size > largest_bytes:
            raise UsageError(
                f"{name} has {path.stat().st_size} bytes; the most that is read is {largest_bytes}"
            )
        return path.read_bytes()
    except (OSError, ValueError) as fault:
        reason = os.strerror(fault.errno) if isinstance(fault, OSError) and fault.errno else str(fault)
        raise UsageError(f"cannot read {name}: {reason}", remedy="check the file name") from fault
