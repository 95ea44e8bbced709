"""PDIs: real ones byte for byte, bootgen as an independent writer and reader, and hostile ones."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.formats import cdo, pdi, xclbin
from aiepipe.formats.cdo import Cdo, DmaWrite, MaskWrite, Write
from aiepipe.formats.reader import pack_words, unpack_words

SEED = "iree-seed-matmul-i32"
CASES = (SEED, "gemm256-i16-1core", "add-bf16", "reduce-add-i32", "distribute-l2-empty-sequence")
OURS = Cdo(
    (
        DmaWrite(0x220000, bytes(range(64))),
        DmaWrite(0x20C800, pack_words((1,))),
        DmaWrite(0x21D004, pack_words(range(300))),
        Write(0x21F000, 5),
        MaskWrite(0x232000, 1, 1),
    )
)


def test_a_real_pdi_comes_back_byte_for_byte(corpus: Path) -> None:
    data = (corpus / SEED / "design.pdi").read_bytes()
    assert pdi.parse(data).encode() == data


@pytest.mark.parametrize("case", CASES)
def test_pdis_inside_xclbins_come_back_byte_for_byte(corpus: Path, case: str) -> None:
    container = xclbin.parse((corpus / case / "final.xclbin").read_bytes())
    for entry in container.partition().pdis:
        assert pdi.parse(entry.image).encode() == entry.image


def test_the_seeds_files_make_the_seeds_pdi(corpus: Path) -> None:
    parts = ("error_handling", "elfs", "init", "enable")
    files = [cdo.parse((corpus / SEED / f"aie_cdo_{part}.bin").read_bytes()) for part in parts]
    assert pdi.from_files(files).encode() == (corpus / SEED / "design.pdi").read_bytes()


def test_headers_of_ours_are_the_known_ones() -> None:
    data = pdi.from_files([OURS]).encode()
    words = unpack_words(data)
    assert words[4 + 31] == 0x9AC12A78  # checksum of the image header table, facts/formats.md 2.1
    assert words[0x90 // 4 + 15] == 0x1D39289B  # of the image header
    assert words[0xD0 // 4] == words[0xD0 // 4 + 2] == (len(data) - 0x150) // 4
    assert len(data) % 16 == 0


def test_the_later_toolchains_image_word_is_kept() -> None:
    # one file of April 2026 has word 14 of the image header = 0xFFFFFFFF, checksum 0x1D39289C
    ours = pdi.from_files([OURS])
    other = replace(ours, image=(*ours.image[:14], 0xFFFFFFFF))
    data = other.encode()
    assert unpack_words(data)[0x90 // 4 + 15] == 0x1D39289C
    assert pdi.parse(data).encode() == data


# --------------------------------------------------------------------------- bootgen


def _bootgen(arguments: Sequence[str], folder: Path) -> str:
    tool = shutil.which("bootgen")
    if tool is None:
        pytest.skip("no bootgen here (Debian: xilinx-bootgen); CI installs it")
    done = subprocess.run(
        [tool, "-arch", "versal", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _bif(files: Sequence[str]) -> str:
    # as mlir-aie and iree-amd-aie write it
    lines = "\n".join(f"      file={file}" for file in files)
    return (
        "all:\n{\n  id_code = 0x14ca8093\n  extended_id_code = 0x01\n  image\n  {\n"
        f"    name=aie_image, id=0x1c000000\n    {{ type=cdo\n{lines}\n    }}\n  }}\n}}\n"
    )


def _tough() -> list[Cdo]:
    """CDO files with every case of bootgen's rewriting: alignment, single words, long and short forms."""
    rows = [
        Cdo(tuple(DmaWrite(0x21D000 + 4 * shift, pack_words(range(count))) for shift in range(4)))
        for count in (1, 2, 3, 5, 249, 250, 251, 252, 253, 254, 255, 256)
    ]
    return [row.for_file() for row in (OURS, *rows, Cdo(()), Cdo((Write(0x232000, 1),)))]


def test_bootgen_makes_the_same_pdi_of_our_files(tmp_path: Path) -> None:
    files = _tough()
    names = [f"part{number}.bin" for number in range(len(files))]
    for name, file in zip(names, files, strict=True):
        (tmp_path / name).write_bytes(file.encode())
    (tmp_path / "design.bif").write_text(_bif(names))
    _bootgen(["-image", "design.bif", "-o", "out.pdi", "-w"], tmp_path)
    assert (tmp_path / "out.pdi").read_bytes() == pdi.from_files(files).encode()


def test_bootgen_reads_our_pdi(tmp_path: Path) -> None:
    (tmp_path / "ours.pdi").write_bytes(pdi.from_files([OURS]).encode())
    text = _bootgen(["-read", "ours.pdi"], tmp_path)
    assert "IMAGE HEADER (aie_image)" in text
    assert "partition_type[cdo]" in text
    assert "total_images (0x04) : 0x00000001" in text


# --------------------------------------------------------------------------- hostile


def _patched(offset: int, value: int, *, header: tuple[int, int] | None = None) -> bytes:
    """Our PDI with one word changed, and the checksum of the header (offset, words) made right again."""
    words = list(unpack_words(pdi.from_files([OURS]).encode()))
    words[offset // 4] = value
    if header is not None:
        start, count = header[0] // 4, header[1]
        words[start + count - 1] = ~sum(words[start : start + count - 1]) & 0xFFFFFFFF
    return pack_words(words)


TABLE, PARTITION = (0x10, 32), (0xD0, 32)


@pytest.mark.parametrize(
    ("data", "offset", "message"),
    [
        (_patched(0, 0), 0, "bus width"),
        (_patched(0x14, 2), 0x8C, "checksum of the image header table"),
        (_patched(0x14, 2, header=TABLE), 0x10, "2 images"),
        (_patched(0xD4, 4, header=PARTITION), 0xD0, "4 of data"),
        (_patched(0xD8, 0x10000, header=PARTITION), 0xD0, "partition of"),
        (_patched(0xD0 + 4 * 28, 1, header=PARTITION), 0x140, "transformed"),
        (_patched(0x154, 0), 0x154, "no CDO"),
        (pdi.from_files([OURS]).encode()[:0x14F], 0, "past"),
        (pdi.from_files([OURS]).encode()[:-4], 0x150, "past"),
    ],
)
def test_bad_pdis_name_their_offset(data: bytes, offset: int, message: str) -> None:
    with pytest.raises(ArtifactError, match=message) as caught:
        pdi.parse(data)
    assert caught.value.offset == offset


@given(
    at=st.integers(0, 0x151 + 60), value=st.integers(0, 255), fix=st.sampled_from([None, TABLE, PARTITION])
)
def test_mutated_pdis_parse_or_are_artifact_errors(at: int, value: int, fix: tuple[int, int] | None) -> None:
    raw = bytearray(pdi.from_files([OURS]).encode())
    raw[at] = value
    words = list(unpack_words(bytes(raw)))
    if fix is not None:
        start, count = fix[0] // 4, fix[1]
        words[start + count - 1] = ~sum(words[start : start + count - 1]) & 0xFFFFFFFF
    data = pack_words(words)
    try:
        parsed = pdi.parse(data)
    except ArtifactError:
        return
    assert parsed.encode() == data
