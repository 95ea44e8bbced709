"""Telling artifacts apart by content."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.formats.kinds import ArtifactKind, artifact_kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("iree-seed-matmul-i32/final.xclbin", ArtifactKind.XCLBIN),
        ("iree-seed-matmul-i32/design.pdi", ArtifactKind.PDI),
        ("iree-seed-matmul-i32/aie_cdo_init.bin", ArtifactKind.CDO),
        ("iree-seed-matmul-i32/insts.txt", ArtifactKind.LX6),
        ("iree-seed-matmul-i32/core_0_2.elf", ArtifactKind.CORE_ELF),
        ("iree-seed-matmul-i32/module.vmfb", ArtifactKind.VMFB),
        ("gemm256-i16-1core/insts.bin", ArtifactKind.TXN),
        ("reduce-add-i32/insts.txt", ArtifactKind.TXN),
        ("iree-seed-matmul-i32/kernels.json", None),
    ],
)
def test_real_files(corpus: Path, name: str, kind: ArtifactKind | None) -> None:
    assert artifact_kind((corpus / name).read_bytes()) is kind


def test_an_elf_for_another_machine_is_no_core_program() -> None:
    # aiebu's control-code ELFs say e_machine 1
    assert artifact_kind(b"\x7fELF" + bytes(14) + b"\1\0") is ArtifactKind.CONTROL_ELF


@given(data=st.one_of(st.binary(max_size=40), st.text("0123456789abcdefx \n", max_size=60).map(str.encode)))
def test_any_bytes_have_a_kind_or_none(data: bytes) -> None:
    artifact_kind(data)
