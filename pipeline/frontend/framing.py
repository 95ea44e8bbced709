"""Messages on a pipe: eight bytes of length, little-endian, then that many bytes."""

from __future__ import annotations

import os

LENGTH_BYTES = 8


class FreshProcessNeeded(Exception):
    """The worker cannot serve the request because of process-wide state; a new one can."""


def write_frame(descriptor: int, data: bytes) -> None:
    """Writes one message. Raises BrokenPipeError when nobody reads."""
    view = memoryview(len(data).to_bytes(LENGTH_BYTES, "little") + data)
    while view:
        view = view[os.write(descriptor, view) :]


def read_frame(descriptor: int) -> bytes | None:
    """Reads one message, waiting for it; None when the pipe was closed before it was whole."""
    head = _read_exactly(descriptor, LENGTH_BYTES)
    return None if head is None else _read_exactly(descriptor, int.from_bytes(head, "little"))


def _read_exactly(descriptor: int, length: int) -> bytes | None:
    parts: list[bytes] = []
    while length:
        part = os.read(descriptor, min(length, 1 << 20))
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
