"""Writes the executables of an IREE module as iree-amd-aie's schemas have them: XRTR and PDIR (of 2025)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

Node = bytes | list["Node"] | tuple["Node | None", ...] | range
"""Bytes are a string, a range a vector of its numbers, a list a vector of references, a tuple a table."""


def module(identifier: bytes, kernels: Sequence[tuple[str, bytes, Sequence[bytes]]]) -> bytes:
    """A .vmfb with one executable: entry name, container and instruction streams of each kernel."""
    names: list[Node] = [name.encode() for name, _, _ in kernels]
    containers: list[Node] = [(container,) for _, container, _ in kernels]
    runs: list[Node] = [([_words(stream) for stream in streams],) for _, _, streams in kernels]
    order = range(len(kernels))
    body = bytearray(8)
    body[4:8] = identifier
    root = _append(body, (names, order, containers, order, runs))
    body[0:4] = struct.pack("<I", root)
    return b"PK\3\4" + bytes(12) + struct.pack("<Q", len(body)) + bytes(body)


class _Words(bytes):
    """A vector of 32-bit words, as bytes."""


def _words(stream: bytes) -> Node:
    return (_Words(stream),)


def _append(out: bytearray, node: Node) -> int:
    out += bytes(-len(out) % 4)
    place = len(out)
    if isinstance(node, _Words):
        out += struct.pack("<I", len(node) // 4) + node
    elif isinstance(node, bytes):
        out += struct.pack("<I", len(node)) + node + b"\0"
    elif isinstance(node, range):
        out += struct.pack(f"<{1 + len(node)}I", len(node), *node)
    elif isinstance(node, list):
        out += struct.pack(f"<{1 + len(node)}I", len(node), *[0] * len(node))
        _refer(out, place + 4, node)
    else:
        offsets = [4 + 4 * index for index in range(len(node))]
        out += struct.pack(f"<{2 + len(node)}H", 4 + 2 * len(node), 4 + 4 * len(node), *offsets)
        out += bytes(-len(out) % 4)
        place, vtable = len(out), place
        out += struct.pack(f"<i{len(node)}I", place - vtable, *[0] * len(node))
        _refer(out, place + 4, node)
    return place


def _refer(out: bytearray, start: int, targets: Sequence[Node | None]) -> None:
    for index, target in enumerate(targets):
        if target is not None:
            at = start + 4 * index
            out[at : at + 4] = struct.pack("<I", _append(out, target) - at)
