"""xclbins, PDIs and IREE modules explained: real ones by value, small ones of our own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from aiepipe.description import Container
from aiepipe.errors import ArtifactError
from aiepipe.explain.container import explain_module, explain_pdi, explain_xclbin
from aiepipe.formats import pdi, xclbin
from aiepipe.formats.cdo import Cdo, Write
from aiepipe.formats.xclbin import SectionKind

SEED = "iree-seed-matmul-i32"
IMAGE = pdi.from_files([Cdo((Write(0x21F000, 3),)).for_file()]).encode()


def test_the_seeds_xclbin_by_value(corpus: Path) -> None:
    """Against the JSON files that it was made from."""
    folder = corpus / SEED
    found = explain_xclbin((folder / "final.xclbin").read_bytes())
    assert [section.kind for section in found.sections] == [
        "MEM_TOPOLOGY", "AIE_PARTITION", "EMBEDDED_METADATA", "IP_LAYOUT", "CONNECTIVITY",
        "ASK_GROUP_CONNECTIVITY", "ASK_GROUP_TOPOLOGY",
    ]  # fmt: skip  # facts/formats.md 1.2: 6, 32, 2, 8, 7, 27, 26
    wanted = json.loads((folder / "kernels.json").read_text())["ps-kernels"]["kernels"][0]
    (kernel,) = found.kernels
    assert (kernel.name, kernel.convention, kernel.kernel_id) == (wanted["name"], "lx6", 0x901)
    assert [(a.name, a.offset, a.type, a.bank) for a in kernel.arguments] == [
        (a["name"], int(a["offset"], 16), a["type"], a.get("memory-connection")) for a in wanted["arguments"]
    ]
    partition = json.loads((folder / "aie_partition.json").read_text())["aie_partition"]
    assert found.partition is not None
    assert found.partition.column_width == partition["partition"]["column_width"]
    assert list(found.partition.start_columns) == [int(c) for c in partition["partition"]["start_columns"]]
    assert found.partition.kernel_commit_id is None  # XRT 2.17 has no such string (facts/formats.md 1.4)
    (image,) = found.images
    assert image.image.size_bytes == (folder / "design.pdi").stat().st_size
    assert image.groups[0].kernel_ids == (0x901,)
    assert image.groups[0].pre_cdo_groups == (0xC1,)


def test_places_in_the_file_are_where_the_bytes_are(corpus: Path) -> None:
    data = (corpus / SEED / "final.xclbin").read_bytes()
    image = explain_xclbin(data).images[0].image
    assert data[image.offset : image.offset + 4] == b"\xdd\0\0\0"  # the first bus width word
    first = image.configuration.commands[0]
    assert first.offset == image.offset + 0x150 + 20  # the CDO's header follows the PDI's


def test_the_seeds_pdi_is_the_xclbins(corpus: Path) -> None:
    alone = explain_pdi((corpus / SEED / "design.pdi").read_bytes())
    inside = explain_xclbin((corpus / SEED / "final.xclbin").read_bytes()).images[0].image
    assert alone.configuration.routes == inside.configuration.routes
    assert alone.configuration.bds == inside.configuration.bds
    assert alone.id_code == 0x14CA8093


def test_a_real_module_holds_the_same_xclbin(corpus: Path) -> None:
    data = (corpus / SEED / "module.vmfb").read_bytes()
    found = explain_module(data)
    (entry,) = found.entries
    assert entry.entry == "matmul_dispatch_0_matmul_64x64x64_i32"
    assert (entry.container, entry.streams) == (0, (0,))
    container = found.containers[0]
    assert isinstance(container, Container)
    assert data[container.offset :].startswith(b"xclbin2\0")
    alone = explain_xclbin((corpus / SEED / "final.xclbin").read_bytes())
    assert container.header == alone.header
    assert [bd.words for bd in container.images[0].image.configuration.bds] == [
        bd.words for bd in alone.images[0].image.configuration.bds
    ]
    assert found.streams[0].form == "lx6"


def test_our_own_xclbin() -> None:
    found = explain_xclbin(xclbin.build(IMAGE, kernel="add", buffers=2, columns=2).encode())
    (kernel,) = found.kernels
    assert [a.name for a in kernel.arguments] == ["opcode", "instr", "ninstr", "bo0", "bo1"]
    assert [a.bank for a in kernel.arguments] == [None, "SRAM", None, "HOST", "HOST"]
    assert found.partition is not None
    assert found.partition.start_columns == (1, 2, 3)
    assert found.images[0].image.configuration.locks[0].value == 3
    assert found.banks[0].size_bytes == 64 << 20


def test_an_xclbin_without_kernels_or_partition_is_still_explained() -> None:
    made = xclbin.build(IMAGE, kernel="add", buffers=2)
    keep = (SectionKind.IP_LAYOUT, SectionKind.CONNECTIVITY)
    found = explain_xclbin(
        replace(
            made,
            sections=tuple(replace(s, offset=None) for s in made.sections if s.kind in keep),
        ).encode()
    )
    assert (found.kernels, found.banks, found.partition, found.images) == ((), (), None, ())


def test_a_module_without_npu_kernels_is_an_error() -> None:
    with pytest.raises(ArtifactError, match="no NPU executable"):
        explain_module(b"PK\3\4" + bytes(64))
