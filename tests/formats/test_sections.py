"""The small tables of an xclbin against real files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.formats import sections, xclbin
from aiepipe.formats.sections import Connection, Ip, MemoryBank
from aiepipe.formats.xclbin import SectionKind

CASES = (
    "iree-seed-matmul-i32",
    "gemm256-i16-1core",
    "add-bf16",
    "reduce-add-i32",
    "distribute-l2-empty-sequence",
)


@pytest.mark.parametrize("case", CASES)
def test_real_tables_come_back_byte_for_byte(corpus: Path, case: str) -> None:
    container = xclbin.parse((corpus / case / "final.xclbin").read_bytes())
    banks = container.section(SectionKind.MEM_TOPOLOGY).data
    assert sections.parse_memory_topology(banks) == sections.BANKS
    assert sections.encode_memory_topology(sections.BANKS) == banks
    assert container.section(SectionKind.ASK_GROUP_TOPOLOGY).data == banks
    ips = container.section(SectionKind.IP_LAYOUT).data
    assert sections.encode_ip_layout(sections.parse_ip_layout(ips)) == ips
    wires = container.section(SectionKind.CONNECTIVITY).data
    connections = sections.parse_connectivity(wires)
    assert sections.encode_connectivity(connections) == wires
    grouped = container.section(SectionKind.ASK_GROUP_CONNECTIVITY).data
    assert sections.encode_connectivity(connections * 2) == grouped


def test_the_two_eras_of_instances(corpus: Path) -> None:
    # properties 0x09010011 of the lx6 era (functional 1), 0x09010001 of the TXN era
    seed = xclbin.parse((corpus / CASES[0] / "final.xclbin").read_bytes())
    (ip,) = sections.parse_ip_layout(seed.section(SectionKind.IP_LAYOUT).data)
    assert ip == Ip("matmul_dispatch_0_matmul_64x64x64_i32:MLIRAIEV1", 0x901, functional=1)
    later = xclbin.parse((corpus / CASES[1] / "final.xclbin").read_bytes())
    (ip,) = sections.parse_ip_layout(later.section(SectionKind.IP_LAYOUT).data)
    assert ip == Ip("MLIR_AIE:MLIRAIE", 0x901)


def test_a_count_past_the_end_is_an_error() -> None:
    for parse in (sections.parse_memory_topology, sections.parse_ip_layout, sections.parse_connectivity):
        for data in (b"", b"\xff\xff\xff\x7f" + bytes(200), b"\x06\0\0\0" + bytes(60)):
            with pytest.raises(ArtifactError, match="past"):
                parse(data, base=16)


def test_names_and_ids_that_do_not_fit_are_errors() -> None:
    with pytest.raises(ValueError, match="longer"):
        sections.encode_ip_layout([Ip("k" * 64, 1)])
    with pytest.raises(ValueError, match="too large"):
        sections.encode_ip_layout([Ip("k", 0x1000)])


INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
LONG = st.integers(0, (1 << 64) - 1)
NAME = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=15)


@given(
    banks=st.lists(st.builds(MemoryBank, NAME, LONG, LONG, st.booleans(), st.integers(0, 255)), max_size=4),
    ips=st.lists(
        st.builds(Ip, NAME, st.integers(0, 0xFFF), st.integers(0, 3), st.integers(0, 3)), max_size=4
    ),
    wires=st.lists(st.builds(Connection, INT32, INT32, INT32), max_size=4),
)
def test_round_trip(banks: list[MemoryBank], ips: list[Ip], wires: list[Connection]) -> None:
    assert list(sections.parse_memory_topology(sections.encode_memory_topology(banks))) == banks
    assert list(sections.parse_ip_layout(sections.encode_ip_layout(ips))) == ips
    assert list(sections.parse_connectivity(sections.encode_connectivity(wires))) == wires
