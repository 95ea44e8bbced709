"""Any file by its content: what it is, and what is said where it is nothing of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.errors import ArtifactError
from aiepipe.explain.artifact import EXPLAINERS, explain, kind_name


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [
        ("iree-seed-matmul-i32/final.xclbin", "xclbin", "xclbin"),
        ("iree-seed-matmul-i32/design.pdi", "pdi", "PDI"),
        ("iree-seed-matmul-i32/aie_cdo_init.bin", "cdo", "CDO"),
        ("iree-seed-matmul-i32/insts.txt", "lx6", "instruction stream"),
        ("reduce-add-i32/insts.txt", "txn", "instruction stream"),
        ("gemm256-i16-1core/insts.bin", "txn", "instruction stream"),
        ("reduce-add-i32/core_0_2.elf", "elf", "core ELF"),
        ("iree-seed-matmul-i32/module.vmfb", "vmfb", "IREE module"),
    ],
)
def test_kinds_by_content(corpus: Path, name: str, kind: str, content: str) -> None:
    data = (corpus / name).read_bytes()
    assert kind_name(data) == kind
    assert explain(data).kind == content


@pytest.mark.parametrize("data", [b"", b"hello\n", b"\x93NUMPY\1\0", b"func.func @main() {}", bytes(64)])
def test_anything_else_is_an_error_that_lists_what_is_understood(data: bytes) -> None:
    with pytest.raises(ArtifactError) as caught:
        explain(data)
    assert caught.value.exit_code == 4
    remedy = caught.value.remedy or ""
    assert all(name in remedy for name in ("xclbin", "PDI", "CDO", "TXN", "lx6", "core ELF", "vmfb"))


def test_a_host_program_is_an_elf_that_is_not_read() -> None:
    header = b"\x7fELF\2\1\1" + bytes(9) + (2).to_bytes(2, "little") + (62).to_bytes(2, "little") + bytes(44)
    with pytest.raises(ArtifactError, match="not of an AIE core"):
        explain(header)


@pytest.mark.parametrize("kind", sorted(EXPLAINERS))
def test_a_file_can_be_taken_for_something_and_says_why_it_is_not(kind: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        explain(bytes(64), kind)
    assert caught.value.where() is not None
