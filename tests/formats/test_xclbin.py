"""xclbins: real ones byte for byte, ones that we build, and hostile ones."""

from __future__ import annotations

import struct
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.formats import pdi, xclbin
from aiepipe.formats.cdo import Cdo, Write
from aiepipe.formats.xclbin import Section, SectionKind, Xclbin
from aiepipe.program import CallingConvention

CASES = (
    "iree-seed-matmul-i32",
    "gemm256-i16-1core",
    "add-bf16",
    "reduce-add-i32",
    "distribute-l2-empty-sequence",
)
IMAGE = pdi.from_files([Cdo((Write(0x232000, 1),))]).encode()
OURS = xclbin.build(IMAGE, kernel="matmul", buffers=3)


@pytest.mark.parametrize("case", CASES)
def test_real_files_come_back_byte_for_byte(corpus: Path, case: str) -> None:
    data = (corpus / case / "final.xclbin").read_bytes()
    assert xclbin.parse(data).encode() == data


@pytest.mark.parametrize("case", CASES)
def test_sections_of_real_files_are_laid_out_as_we_would(corpus: Path, case: str) -> None:
    parsed = xclbin.parse((corpus / case / "final.xclbin").read_bytes())
    placed_anew = replace(parsed, sections=tuple(replace(s, offset=None) for s in parsed.sections))
    assert placed_anew.encode() == parsed.encode()


def test_the_seed_is_called_the_lx6_way(corpus: Path) -> None:
    kernel = xclbin.parse((corpus / CASES[0] / "final.xclbin").read_bytes()).kernel()
    assert kernel.name == "matmul_dispatch_0_matmul_64x64x64_i32"
    assert kernel.convention is CallingConvention.LX6
    assert [(a.name, a.bank) for a in kernel.arguments] == [
        ("instr", 1),
        ("ninstr", None),
        ("in", 0),
        ("tmp", 0),
        ("out", 0),
    ]
    assert [a.name for a in kernel.data_arguments] == ["in", "tmp", "out"]


def test_a_later_file_is_called_the_txn_way(corpus: Path) -> None:
    parsed = xclbin.parse((corpus / "gemm256-i16-1core" / "final.xclbin").read_bytes())
    kernel = parsed.kernel("MLIR_AIE")
    assert (kernel.instance, kernel.kernel_id) == ("MLIRAIE", 0x901)
    assert kernel.convention is CallingConvention.TXN
    assert [(a.index, a.offset, a.bank) for a in kernel.arguments][:4] == [
        (0, 0x00, None),
        (1, 0x08, 1),
        (2, 0x10, None),
        (3, 0x14, 0),
    ]
    assert parsed.pdi_for(kernel) == parsed.pdi_for("MLIR_AIE:MLIRAIE")
    assert pdi.is_pdi(parsed.pdi_for(kernel))
    assert parsed.version == (2, 21, 75)


@pytest.mark.parametrize("case", ["gemm256-i16-1core", "add-bf16"])
def test_we_build_the_sections_that_mlir_aie_and_xrt_build(corpus: Path, case: str) -> None:
    theirs = xclbin.parse((corpus / case / "final.xclbin").read_bytes())
    (image,) = theirs.partition().pdis
    ours = xclbin.build(
        image.image,
        kernel="MLIR_AIE",
        buffers=5,
        columns=4,
        start_columns=[0],
        pdi_uuid=image.uuid,
        timestamp=theirs.timestamp,
        version=theirs.version,
    )
    assert [(s.kind, s.data) for s in ours.sections] == [(s.kind, s.data) for s in theirs.sections]
    # what remains: the random UUID, the names of two JSON files, and the mirror that nothing needs
    names = tuple(replace(a, name=b.name) for a, b in zip(ours.sections, theirs.sections, strict=True))
    same = replace(ours, uuid=theirs.uuid, sections=names, trailer=theirs.trailer)
    assert same.encode() == theirs.encode()


def test_what_we_build_is_read_back() -> None:
    parsed = xclbin.parse(OURS.encode())
    assert parsed.encode() == OURS.encode()
    assert parsed.pdi_for("matmul") == IMAGE
    kernel = parsed.kernel()
    assert [a.name for a in kernel.arguments] == ["opcode", "instr", "ninstr", "bo0", "bo1", "bo2"]
    assert [a.bank for a in kernel.arguments] == [None, 1, None, 0, 0, 0]
    assert [bank.tag for bank in parsed.memory_banks()] == ["HOST", "SRAM"]
    found = parsed.partition()
    assert (found.column_width, found.start_columns) == (1, (1, 2, 3, 4))


@given(
    st.lists(st.tuples(st.binary(min_size=4, max_size=80), st.integers(1, 6)), min_size=1, max_size=5),
    st.integers(1, 4),
)
def test_each_of_several_kernels_has_its_own_pdi_id_and_arguments(
    contents: list[tuple[bytes, int]], columns: int
) -> None:
    """As XRT's NPU shim looks a PDI up: by the kernel id of the instance's IP_LAYOUT entry."""
    parts = [
        xclbin.KernelPart(image, f"k{number}", buffers, kernel_id=0x901 + number)
        for number, (image, buffers) in enumerate(contents)
    ]
    parsed = xclbin.parse(xclbin.build_several(parts, columns=columns).encode())
    assert parsed.encode() == xclbin.build_several(parts, columns=columns).encode()
    for part, kernel in zip(parts, parsed.kernels(), strict=True):
        assert (kernel.name, kernel.kernel_id) == (part.kernel, part.kernel_id)
        assert parsed.pdi_for(part.kernel) == part.pdi
        assert [a.bank for a in kernel.arguments] == [None, 1, None, *[0] * part.buffers]
    pdi_ids = [group.pdi_id for image in parsed.partition().pdis for group in image.groups]
    assert pdi_ids == list(range(1, len(parts) + 1))


def test_two_kernels_with_one_id_are_an_error() -> None:
    parts = [xclbin.KernelPart(IMAGE, name, 1) for name in ("a", "b")]
    with pytest.raises(ValueError, match="one id"):
        xclbin.build_several(parts, columns=1)


def test_equal_input_gives_equal_bytes_and_the_time_is_not_part_of_the_uuid() -> None:
    again = xclbin.build(IMAGE, kernel="matmul", buffers=3)
    assert again.encode() == OURS.encode()
    later = xclbin.build(IMAGE, kernel="matmul", buffers=3, timestamp=1700000000)
    assert later.uuid == OURS.uuid
    assert later.encode() != OURS.encode()
    assert xclbin.build(IMAGE, kernel="matmul", buffers=2).uuid != OURS.uuid
    assert OURS.uuid.variant == uuid.RFC_4122


@pytest.mark.parametrize(("columns", "starts"), [(1, (1, 2, 3, 4)), (2, (1, 2, 3)), (4, (1,))])
def test_partitions_start_where_there_is_a_shim_dma(columns: int, starts: tuple[int, ...]) -> None:
    assert xclbin.build(IMAGE, kernel="k", buffers=1, columns=columns).partition().start_columns == starts


def test_what_cannot_be_built_is_an_error() -> None:
    with pytest.raises(ValueError, match="longer"):
        xclbin.build(IMAGE, kernel="k" * 60, buffers=1)
    with pytest.raises(ValueError, match="1 to 4 columns"):
        xclbin.build(IMAGE, kernel="k", buffers=1, columns=5)


def test_a_kernel_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ArtifactError, match=r"'conv'; it has matmul"):
        OURS.pdi_for("conv")
    with pytest.raises(ArtifactError, match="no IP_LAYOUT section"):
        replace(OURS, sections=OURS.sections[:3]).kernels()


def test_a_partition_of_npu2_is_refused() -> None:
    wide = replace(OURS.partition(), column_width=8, start_columns=(0,)).encode()
    sections = tuple(
        replace(s, data=wide) if s.kind == SectionKind.AIE_PARTITION else s for s in OURS.sections
    )
    with pytest.raises(ArtifactError, match="npu2"):
        replace(OURS, sections=sections).pdi_for("matmul")


def test_bytes_outside_sections_are_kept() -> None:
    made = Xclbin(
        (Section(6, b"first", offset=0x300), Section(99, b"second", "name", offset=0x2F0, spare=7)),
        uuid.UUID(int=3),
        gaps=((0x2E0, b"between\x01\x02\x03\x04"),),
        trailer=b"mirror",
    )
    data = made.encode()
    parsed = xclbin.parse(data)
    assert parsed.encode() == data
    assert data[0x2E0:0x2E7] == b"between"
    assert [section.data for section in parsed.sections] == [b"first", b"second"]


HEADERS = 0x1C8


def _patched(at: int, code: str, value: int) -> bytes:
    data = bytearray(OURS.encode())
    struct.pack_into(f"<{code}", data, at, value)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "offset", "message"),
    [
        (b"", 0, "no xclbin"),
        (b"\x7fELF" + bytes(1000), 0, "no xclbin"),
        (OURS.encode()[:0x100], 0, "past"),
        (OURS.encode()[:-1], 0x130, "truncated|says"),
        (OURS.encode() + b"\0", 0x130, "says"),
        (_patched(0x1C0, "I", 0x7FFFFFFF), 0x1C8, "table of 2147483647 sections"),
        (_patched(HEADERS + 24, "Q", 1 << 63), HEADERS, "outside the file"),
        (_patched(HEADERS + 32, "Q", 1 << 40), HEADERS, "outside the file"),
        (_patched(HEADERS + 24, "Q", 0x100), HEADERS, "overlaps the section headers"),
        (_patched(HEADERS + 40 + 24, "Q", 0x2E8), HEADERS + 40, "overlaps section 0"),
    ],
)
def test_bad_files_name_their_offset(data: bytes, offset: int, message: str) -> None:
    with pytest.raises(ArtifactError, match=message) as caught:
        xclbin.parse(data)
    assert caught.value.offset == offset


def test_errors_in_a_section_have_the_files_offset() -> None:
    section = xclbin.parse(OURS.encode()).section(SectionKind.AIE_PARTITION)
    assert section.offset is not None
    with pytest.raises(ArtifactError, match="columns") as caught:
        xclbin.parse(_patched(section.offset + 32, "H", 0)).partition()
    assert caught.value.offset == section.offset + 32


@given(
    edits=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=3),
    early=st.booleans(),
)
def test_mutated_files_parse_or_are_artifact_errors(edits: list[tuple[int, int]], early: bool) -> None:
    data = bytearray(OURS.encode())
    limit = 736 if early else len(data)
    for at, value in edits:
        data[at % limit] = value
    try:
        parsed = xclbin.parse(bytes(data))
        assert parsed.encode() == bytes(data)
        for kernel in parsed.kernels():
            pdi.parse(parsed.pdi_for(kernel))
    except ArtifactError:
        return
