"""IREE modules with NPU kernels: a real one, every version of the schema, and hostile ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.formats import vmfb, xclbin
from aiepipe.formats.instructions import to_binary
from aiepipe.formats.reader import pack_words
from aiepipe.formats.txn import Noop, Transaction
from aiepipe.formats.vmfb import ContainerKind, EmbeddedKernel


def test_a_real_module_holds_the_xclbin_and_the_stream(corpus: Path) -> None:
    folder = corpus / "iree-seed-matmul-i32"
    (kernel,) = vmfb.parse((folder / "module.vmfb").read_bytes())
    assert kernel.entry == "matmul_dispatch_0_matmul_64x64x64_i32"
    assert kernel.container == (folder / "final.xclbin").read_bytes()
    assert kernel.streams == (to_binary((folder / "insts.txt").read_bytes()),)


# --------------------------------------------------------------------------- a small writer


class _Words(tuple[int, ...]):
    """A vector of numbers."""


class _Row(tuple["_Node", ...]):
    """A vector of strings or tables."""


class _Table(tuple["_Node", ...]):
    """A table; an empty string is a field that is not there."""


_Node = bytes | _Words | _Row | _Table


def _write(out: bytearray, node: _Node) -> int:
    """Appends `node` and what it refers to; where it stands."""
    out += bytes(-len(out) % 4)
    if isinstance(node, bytes):
        place = len(out)
        out += len(node).to_bytes(4, "little") + node + b"\0"
        return place
    if isinstance(node, _Words):
        place = len(out)
        out += pack_words((len(node), *node))
        return place
    if isinstance(node, _Row):
        place = len(out)
        out += pack_words((len(node), *[0] * len(node)))
        _refer(out, place + 4, node)
        return place
    vtable = len(out)
    offsets = [4 + 4 * index if field else 0 for index, field in enumerate(node)]
    for number in (4 + 2 * len(node), 4 + 4 * len(node), *offsets):
        out += number.to_bytes(2, "little")
    out += bytes(-len(out) % 4)
    place = len(out)
    out += pack_words((place - vtable, *[0] * len(node)))
    _refer(out, place + 4, node)
    return place


def _refer(out: bytearray, start: int, targets: Sequence[_Node]) -> None:
    for index, target in enumerate(targets):
        if target:
            at = start + 4 * index
            out[at : at + 4] = (_write(out, target) - at).to_bytes(4, "little")


def _module(kind: ContainerKind, table: _Table) -> bytes:
    body = bytearray(8)
    body[4:8] = kind.value.encode()
    body[0:4] = _write(body, table).to_bytes(4, "little")
    return b"PK\3\4" + bytes(12) + len(body).to_bytes(8, "little") + bytes(body)


IMAGE = xclbin.MAGIC + bytes(24)
STREAM = Transaction((Noop(),)).encode()
WORDS = _Words((0x06030100, 0x104, 1, 20, 5))
OTHER = _Words((0x06030100, 0x104, 0, 16))
NAMES = _Row((b"first", b"second"))


def test_the_first_schema() -> None:
    table = _Table((NAMES, IMAGE, _Row((_Table((WORDS,)), _Table((OTHER,))))))
    assert vmfb.parse(_module(ContainerKind.XCLBIN, table)) == (
        EmbeddedKernel("first", ContainerKind.XCLBIN, IMAGE, (STREAM,)),
        EmbeddedKernel("second", ContainerKind.XCLBIN, IMAGE, (pack_words(OTHER),)),
    )


def test_the_second_schema_shares_xclbins() -> None:
    streams = _Row((_Table((WORDS,)), _Table((OTHER,))))
    containers = _Row((_Table((IMAGE,)),))
    table = _Table((NAMES, _Words((0, 0)), containers, _Words((1, 0)), streams))
    assert [(k.container, k.streams) for k in vmfb.parse(_module(ContainerKind.XCLBIN, table))] == [
        (IMAGE, (pack_words(OTHER),)),
        (IMAGE, (STREAM,)),
    ]


@pytest.mark.parametrize("kind", list(ContainerKind))
def test_the_third_schema_has_several_runs(kind: ContainerKind) -> None:
    runs = _Row((_Table((_Row((_Table((WORDS,)), _Table((OTHER,)))),)),))
    containers = _Row((_Table((IMAGE,)),))
    table = _Table((NAMES, _Words((0, 0xFFFFFFFF)), containers, _Words((0, 0xFFFFFFFF)), runs))
    assert vmfb.parse(_module(kind, table)) == (
        EmbeddedKernel("first", kind, IMAGE, (STREAM, pack_words(OTHER))),
        EmbeddedKernel("second", kind, b"", ()),
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no NPU executable"),
        (b"PK\3\4" + bytes(64), "no NPU executable"),
        (_module(ContainerKind.PDI, _Table((NAMES, _Words((0,)))))[:-20], "past"),
        (b"PK\3\4" + bytes(12) + (16).to_bytes(8, "little") + b"\xff\xff\xff\x7fXRTR" + bytes(16), "past"),
    ],
)
def test_bad_modules_are_errors(data: bytes, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        vmfb.parse(data)


def test_many_references_to_one_vector_do_not_grow() -> None:
    body = bytearray(_module(ContainerKind.XCLBIN, _Table((NAMES, IMAGE, _Row([_Table((OTHER,))] * 2000)))))
    start, count = 24, 2000
    # all 2000 tables of streams become the first one, whose vector claims most of the file
    first = body.find(pack_words(OTHER)) - 4
    body[first : first + 4] = ((len(body) - first) // 4 - 2).to_bytes(4, "little")
    row = body.find(count.to_bytes(4, "little"), start)
    target = row + 4 + int.from_bytes(body[row + 4 : row + 8], "little")
    for index in range(count):
        at = row + 4 + 4 * index
        body[at : at + 4] = (target - at).to_bytes(4, "little")
    with pytest.raises(ArtifactError, match="overlap"):
        vmfb.parse(bytes(body))


@given(edits=st.lists(st.tuples(st.integers(0, 1 << 12), st.integers(0, 255)), min_size=1, max_size=3))
def test_mutated_modules_parse_or_are_artifact_errors(edits: list[tuple[int, int]]) -> None:
    runs = _Row((_Table((_Row((_Table((WORDS,)), _Table((OTHER,)))),)),))
    table = _Table((NAMES, _Words((0, 0)), _Row((_Table((IMAGE,)),)), _Words((0, 0)), runs))
    data = bytearray(_module(ContainerKind.XCLBIN, table))
    for at, value in edits:
        data[at % len(data)] = value
    try:
        vmfb.parse(bytes(data))
    except ArtifactError:
        return
