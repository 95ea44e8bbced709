"""The AIE partition section: real ones byte for byte, and hostile ones."""

from __future__ import annotations

import struct
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.formats import partition, xclbin
from aiepipe.formats.partition import AiePartition, CdoGroup, PartitionPdi
from aiepipe.formats.xclbin import SectionKind

CASES = (
    ("iree-seed-matmul-i32", 1, (1, 2, 3, 4), None),  # XRT 2.17 has no commit string
    ("gemm256-i16-1core", 4, (0,), ""),
    ("add-bf16", 4, (0,), ""),
    ("reduce-add-i32", 1, (1, 2, 3, 4), ""),
    ("distribute-l2-empty-sequence", 1, (1, 2, 3, 4), ""),
)
OURS = AiePartition(
    (
        PartitionPdi(uuid.UUID(int=7), b"image of 17 bytes", (CdoGroup((0x901,), pre_cdo_groups=(0xC1,)),)),
        PartitionPdi(uuid.UUID(int=8), b"another", (CdoGroup((1, 2), "PP", 3), CdoGroup((), "", 2, 9))),
    ),
    column_width=1,
    start_columns=(1, 2, 3, 4),
)


@pytest.mark.parametrize(("case", "width", "starts", "commit"), CASES)
def test_real_partitions_come_back_byte_for_byte(
    corpus: Path, case: str, width: int, starts: tuple[int, ...], commit: str | None
) -> None:
    container = xclbin.parse((corpus / case / "final.xclbin").read_bytes())
    found = container.partition()
    assert (found.column_width, found.start_columns, found.kernel_commit_id) == (width, starts, commit)
    assert [group for pdi in found.pdis for group in pdi.groups] == [
        CdoGroup((0x901,), "DPU", partition.TYPE_PRIMARY, 1, (0xC1,))
    ]
    assert found.encode() == container.section(SectionKind.AIE_PARTITION).data


def test_offsets_of_images_are_those_of_the_file(corpus: Path) -> None:
    data = (corpus / "iree-seed-matmul-i32" / "final.xclbin").read_bytes()
    (pdi,) = xclbin.parse(data).partition().pdis
    assert data[pdi.offset : pdi.offset + len(pdi.image)] == pdi.image
    assert pdi.image == (corpus / "iree-seed-matmul-i32" / "design.pdi").read_bytes()


def test_a_partition_of_eight_columns_is_refused_for_npu1() -> None:
    OURS.require_npu1()
    with pytest.raises(ArtifactError, match="npu2"):
        replace(OURS, column_width=8).require_npu1()


def _without_offsets(found: AiePartition) -> AiePartition:
    return replace(found, pdis=tuple(replace(pdi, offset=0) for pdi in found.pdis))


def test_round_trip_of_ours() -> None:
    assert _without_offsets(partition.parse(OURS.encode())) == OURS


LONG = st.integers(0, (1 << 64) - 1)
TEXT = st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=9)
IDS = st.lists(LONG, max_size=3).map(tuple)
GROUPS = st.builds(CdoGroup, IDS, TEXT, st.integers(0, 255), LONG, IDS)
PDIS = st.builds(PartitionPdi, st.uuids(), st.binary(max_size=40), st.lists(GROUPS, max_size=2).map(tuple))
PARTITIONS = st.builds(
    AiePartition,
    st.lists(PDIS, max_size=3).map(tuple),
    st.integers(1, 8),
    st.lists(st.integers(0, 7), min_size=1, max_size=4).map(tuple),
    st.integers(0, 0xFFFFFFFF),
    LONG,
    LONG,
    TEXT,
    st.one_of(st.none(), TEXT),
)


@given(made=PARTITIONS)
def test_round_trip(made: AiePartition) -> None:
    data = made.encode()
    found = partition.parse(data)
    assert _without_offsets(found) == made
    assert found.encode() == data


def test_many_references_to_one_image_do_not_grow() -> None:
    count, image = 4000, bytes(400_000)
    entry = struct.pack("<16sII", bytes(16), len(image), 192 + 96 * count).ljust(96, b"\0")
    head = bytearray(192)
    struct.pack_into("<H6xII", head, 32, 1, 1, 184)
    struct.pack_into("<III", head, 120, count, 192, 0)
    struct.pack_into("<I", head, 4, 184)
    with pytest.raises(ArtifactError, match="overlap"):
        partition.parse(bytes(head) + entry * count + image)


@pytest.mark.parametrize(
    ("at", "code", "value", "message"),
    [
        (0, "B", 1, "schema"),
        (4, "I", 0xFFFFFFF0, "no end"),
        (32, "H", 0, "0 columns"),
        (40, "I", 0x7FFFFFFF, "start_columns"),
        (44, "I", 0xFFFFFFF0, "start_columns"),
        (120, "I", 0x1000000, "the PDIs"),
        (124, "I", 0xFFFFFFFF, "the PDIs"),
        (128, "I", 0xFFFFFFFF, "kernel_commit_id"),
    ],
)
def test_bad_references_are_errors(at: int, code: str, value: int, message: str) -> None:
    data = bytearray(OURS.encode())
    struct.pack_into(f"<{code}", data, at, value)
    with pytest.raises(ArtifactError, match=message):
        partition.parse(bytes(data))


@given(at=st.integers(0, 1 << 16), value=st.integers(0, 255), cut=st.integers(0, 200))
def test_mutated_partitions_parse_or_are_artifact_errors(at: int, value: int, cut: int) -> None:
    data = bytearray(OURS.encode())
    data[at % len(data)] = value
    for mutated in (bytes(data), bytes(data[: len(data) - cut])):
        try:
            partition.parse(mutated)
        except ArtifactError:
            continue
