"""The XML that declares kernels, against real files, and hostile XML."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.formats import metadata, xclbin
from aiepipe.formats.metadata import ArgumentDeclaration, KernelDeclaration
from aiepipe.formats.xclbin import SectionKind, txn_arguments


def _xml(corpus: Path, case: str) -> bytes:
    container = xclbin.parse((corpus / case / "final.xclbin").read_bytes())
    return container.section(SectionKind.EMBEDDED_METADATA).data


def test_the_txn_eras_table(corpus: Path) -> None:
    (kernel,) = metadata.parse(_xml(corpus, "reduce-add-i32"))
    assert kernel == KernelDeclaration("MLIR_AIE", ("MLIRAIE",), txn_arguments(5), 0x901)
    # XRT 2.18 wrote the attributes in another order; the meaning is the same
    assert (kernel,) == metadata.parse(_xml(corpus, "gemm256-i16-1core"))


@pytest.mark.parametrize("case", ["gemm256-i16-1core", "add-bf16"])
def test_xrt_2_21_writes_what_we_write(corpus: Path, case: str) -> None:
    kernel = KernelDeclaration("MLIR_AIE", ("MLIRAIE",), txn_arguments(5), 0x901)
    assert metadata.encode((kernel,)) == _xml(corpus, case)


def test_the_lx6_eras_table(corpus: Path) -> None:
    data = _xml(corpus, "iree-seed-matmul-i32")
    (kernel,) = metadata.parse(data)
    assert [argument.name for argument in kernel.arguments] == ["instr", "ninstr", "in", "tmp", "out"]
    assert [argument.is_global for argument in kernel.arguments] == [True, False, True, True, True]
    assert kernel.functional == 1
    assert metadata.encode((kernel,)) == data


BOMB = b"""<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<project>&b;</project>"""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (BOMB, "DTD"),
        (b'<!DOCTYPE p SYSTEM "file:///etc/passwd"><p/>', "DTD"),
        (b"", "malformed"),
        (b"<project>", "malformed"),
        (b"<project>&b;</project>", "malformed"),
        (b"\xff\xfe<", "malformed"),
        (b"<a>" * 65 + b"</a>" * 65, "nested deeper"),
        (b'<p><kernel name="k"><arg id="first"/></kernel></p>', "id='first' is not a number"),
        (b'<p><kernel><extended-data dpu_kernel_id="0xZ"/></kernel></p>', "not a number"),
        (b'<p><kernel><arg id="' + b"9" * 5000 + b'"/></kernel></p>', "not a number"),
    ],
)
def test_bad_xml_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(ArtifactError, match=message) as caught:
        metadata.parse(data, base=0x100)
    assert caught.value.offset is not None
    assert caught.value.offset >= 0x100


def test_a_declared_encoding_is_not_looked_up() -> None:
    assert metadata.parse(b'<?xml version="1.0" encoding="no-such-codec"?><project/>') == ()


TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=["Cc"]), max_size=9)
NUMBER = st.integers(0, 1 << 40)
ARGUMENTS = st.lists(
    st.builds(ArgumentDeclaration, TEXT, st.just(0), NUMBER, NUMBER, TEXT, st.booleans()), max_size=4
).map(
    lambda row: tuple(
        ArgumentDeclaration(a.name, i, a.offset, a.size_bytes, a.type, a.is_global) for i, a in enumerate(row)
    )
)
KERNELS = st.builds(
    KernelDeclaration, TEXT, st.lists(TEXT, max_size=2).map(tuple), ARGUMENTS, st.integers(0, 0xFFF)
)


@given(kernels=st.lists(KERNELS, max_size=3).map(tuple))
def test_round_trip(kernels: tuple[KernelDeclaration, ...]) -> None:
    assert metadata.parse(metadata.encode(kernels)) == kernels


@given(at=st.integers(0, 1 << 16), value=st.integers(0, 255))
def test_mutated_xml_parses_or_is_an_artifact_error(at: int, value: int) -> None:
    kernel = KernelDeclaration("MLIR_AIE", ("MLIRAIE",), txn_arguments(2), 0x901)
    data = bytearray(metadata.encode((kernel,)))
    data[at % len(data)] = value
    try:
        metadata.parse(bytes(data))
    except ArtifactError:
        return
