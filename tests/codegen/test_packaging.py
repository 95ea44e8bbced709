"""The files of an artifact: names, sameness, and what independent readers say of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.codegen.packaging import JOINT_XCLBIN, entry_name, link
from aiepipe.errors import UnsupportedOp, UsageError
from aiepipe.formats import cdo, elf, pdi, txn, xclbin
from aiepipe.formats.instructions import parse_instructions
from aiepipe.program import Access, Binding, CallingConvention, Dispatch, TensorType

from .dispatches import DispatchBuilder, fill, matmul, projected

DISPATCH = matmul(8, 32, 16)
ONE_CORE = CompileOptions(cores=1)
ENTRY = "main_dispatch_0_matmul_8x32x16_i32_0"


def test_the_files_are_those_of_iree_amd_aie() -> None:
    artifact = compile_dispatch(DISPATCH, ONE_CORE)
    assert artifact.entry == artifact.kernel == ENTRY
    assert set(artifact.files) == {
        f"{ENTRY}.xclbin",
        f"{ENTRY}.npu_inst.txt",
        f"{ENTRY}.npu_inst.bin",
        f"{ENTRY}.s",
        "design.pdi",
        "aie_cdo_elfs.bin",
        "aie_cdo_init.bin",
        "aie_cdo_enable.bin",
        "core_0_2.elf",
    }
    assert artifact.files[f"{ENTRY}.xclbin"] == artifact.xclbin
    assert artifact.files[f"{ENTRY}.npu_inst.bin"] == artifact.instructions
    text = artifact.files[f"{ENTRY}.npu_inst.txt"]
    assert parse_instructions(text) == parse_instructions(artifact.instructions)


def test_two_builds_give_the_same_bytes() -> None:
    assert compile_dispatch(DISPATCH, CompileOptions()) == compile_dispatch(DISPATCH, CompileOptions())


def test_only_the_xclbin_knows_the_time() -> None:
    early = compile_dispatch(DISPATCH, CompileOptions())
    late = compile_dispatch(DISPATCH, CompileOptions(source_date_epoch=1_700_000_000))
    assert {name for name in early.files if early.files[name] != late.files[name]} == {f"{ENTRY}.xclbin"}
    assert xclbin.parse(early.xclbin).timestamp == 0
    assert xclbin.parse(late.xclbin).timestamp == 1_700_000_000
    assert xclbin.parse(early.xclbin).uuid == xclbin.parse(late.xclbin).uuid


def test_the_xclbin_holds_one_kernel_for_any_column() -> None:
    artifact = compile_dispatch(DISPATCH, ONE_CORE)
    container = xclbin.parse(artifact.xclbin)
    kernel = container.kernel()
    assert (kernel.name, kernel.instance, kernel.convention) == (ENTRY, "IREE", CallingConvention.TXN)
    assert [argument.name for argument in kernel.data_arguments] == ["bo0", "bo1", "bo2"]
    partition = container.partition()
    assert (partition.column_width, partition.start_columns) == (1, (1, 2, 3, 4))
    assert container.pdi_for(kernel) == artifact.files["design.pdi"]


def test_several_artifacts_are_linked_into_one_xclbin() -> None:
    shapes = [(8, 32, 16), (4, 4, 4), (64, 64, 64)]
    alone = [
        compile_dispatch(matmul(*shape), CompileOptions(ordinal=number, source_date_epoch=7))
        for number, shape in enumerate(shapes)
    ]
    linked = link(alone)
    (joint,) = {artifact.xclbin for artifact in linked}
    container = xclbin.parse(joint)
    assert container.timestamp == 7
    assert [kernel.name for kernel in container.kernels()] == [artifact.kernel for artifact in alone]
    widths = [xclbin.parse(artifact.xclbin).partition().column_width for artifact in alone]
    assert container.partition().column_width == max(widths) > min(widths)
    for before, after in zip(alone, linked, strict=True):
        assert container.pdi_for(after.kernel) == before.files["design.pdi"]
        assert set(after.files) == {*before.files, JOINT_XCLBIN} - {f"{before.entry}.xclbin"}
        assert after.files[JOINT_XCLBIN] == joint
        assert replace(after, xclbin=before.xclbin, files=before.files) == before


def test_one_artifact_is_linked_to_itself() -> None:
    artifact = compile_dispatch(DISPATCH, ONE_CORE)
    assert link([artifact]) == (artifact,)
    assert link([]) == ()


def test_the_stream_is_a_txn_for_npu1() -> None:
    stream = txn.parse(compile_dispatch(DISPATCH, CompileOptions()).instructions)
    assert (stream.version, stream.generation, stream.rows) == ((0, 1), txn.DEVICE_NPU1, 6)


def test_the_core_program_is_in_the_elf_and_in_the_configuration() -> None:
    files = compile_dispatch(DISPATCH, ONE_CORE).files
    program = elf.parse(files["core_0_2.elf"])
    writes = [c for c in cdo.parse(files["aie_cdo_elfs.bin"]).commands if isinstance(c, cdo.DmaWrite)]
    assert [write.address for write in writes] == [0x0022_0000]  # core (0,2), program memory
    assert writes[0].data[: len(program.text)] == program.text
    assert program.symbol_addresses()["tile"] % 16 == 0


def test_a_constant_is_in_the_elf_and_in_the_configuration() -> None:
    builder = DispatchBuilder()
    weights = bytes(range(20))
    left, right = builder.operand(3, 4), builder.constant(weights, 4, 5, element="i8")
    target = builder.binding(3, 5, access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    start = builder.filled(0, 3, 5)
    builder.store(builder.contraction(left, right, start, maps, (3, 5, 4)), target)
    files = compile_dispatch(builder.done(), CompileOptions()).files
    data = [segment for segment in elf.parse(files["core_0_2.elf"]).segments if not segment.is_program]
    assert [segment.data for segment in data] == [weights]
    writes = [c for c in cdo.parse(files["aie_cdo_elfs.bin"]).commands if isinstance(c, cdo.DmaWrite)]
    assert (writes[1].address & 0xFFFFF, writes[1].data) == (data[0].address - 0x70000, weights)


def test_the_listing_names_the_source_op() -> None:
    listing = compile_dispatch(DISPATCH, ONE_CORE).files[f"{ENTRY}.s"].decode()
    assert listing.startswith("// core (0,2) of main_dispatch_0_matmul_8x32x16_i32, test.mlir:7:3\n")
    assert "vmac cm0, cm0, x0, x4, r16" in listing
    assert "linalg.matmul: multiply-add" in listing
    assert "linalg.fill" in listing


@pytest.mark.parametrize(
    ("dispatch", "entry"),
    [
        ("main_dispatch_0", "main_dispatch_0_0"),
        ("matmul$64x64", "matmul_64x64_0"),
        ("a" * 70, "a" * 42 + "_0"),
        ("übung", "_bung_0"),
        ("", "_0"),
    ],
)
def test_entry_names_are_safe_and_short(dispatch: str, entry: str) -> None:
    found = entry_name(dispatch, 0)
    assert found == entry
    assert len(f"{found}:IREE") <= 63


def test_a_long_name_with_a_dollar_makes_an_xclbin() -> None:
    """shared/reports/37."""
    name = "matmul$64x64_a_very_long_function_name_that_exceeds_forty_two_characters"
    artifact = compile_dispatch(replace(matmul(4, 4, 4), name=name), CompileOptions(ordinal=3))
    assert artifact.dispatch == name
    assert artifact.entry == "matmul_64x64_a_very_long_function_name_tha_3"
    assert xclbin.parse(artifact.xclbin).kernel().name == artifact.entry


def test_nothing_to_do_is_a_stream_without_operations() -> None:
    artifact = compile_dispatch(matmul(4, 4, 0, fill=None), CompileOptions())
    assert txn.parse(artifact.instructions).ops == ()
    assert "core_0_2.elf" not in artifact.files


def test_another_target_is_refused() -> None:
    with pytest.raises(UsageError, match="npu1, not 'npu4'"):
        compile_dispatch(DISPATCH, CompileOptions(target="npu4"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (CompileOptions(tile=(8, 0, 8)), "^tile sizes are at least 1, not 8,0,8$"),
        (CompileOptions(cores=0), "^at least one core is needed, not 0$"),
    ],
)
def test_tiles_and_cores_are_counted_from_one(options: CompileOptions, said: str) -> None:
    """The message is of the option at fault, as it was written."""
    with pytest.raises(UsageError, match=said):
        compile_dispatch(DISPATCH, options)


def test_more_buffers_than_a_kernel_has_are_refused() -> None:
    more = tuple(Binding(3 + i, TensorType((4,), "i32"), Access.READ) for i in range(4))
    with pytest.raises(UnsupportedOp, match="7 buffers, a kernel has 6"):
        compile_dispatch(replace(DISPATCH, bindings=DISPATCH.bindings + more), CompileOptions())


@pytest.mark.parametrize("dispatch", [DISPATCH, fill(7, 5)], ids=["matmul", "fill"])
def test_bootgen_makes_the_same_pdi_and_reads_it(dispatch: Dispatch, tmp_path: Path) -> None:
    """Debian's xilinx-bootgen, an independent writer and reader of PDIs."""
    bootgen = shutil.which("bootgen")
    if bootgen is None:
        pytest.skip("bootgen is not installed (apt install xilinx-bootgen)")
    artifact = compile_dispatch(dispatch, CompileOptions())
    names = ("aie_cdo_elfs.bin", "aie_cdo_init.bin", "aie_cdo_enable.bin")
    for name in names:
        (tmp_path / name).write_bytes(artifact.files[name])
    (tmp_path / "design.bif").write_text(
        "all:\n{\n  id_code = 0x14ca8093\n  extended_id_code = 0x01\n  image\n  {\n"
        "    name=aie_image, id=0x1c000000\n    { type=cdo\n"
        + "".join(f"      file={name}\n" for name in names)
        + "    }\n  }\n}\n"
    )
    environment = {**os.environ, "LC_ALL": "C"}
    made = subprocess.run(
        [bootgen, "-arch", "versal", "-image", "design.bif", "-o", "design.pdi", "-w"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert (tmp_path / "design.pdi").read_bytes() == artifact.files["design.pdi"]
    read = subprocess.run(
        [bootgen, "-arch", "versal", "-read", "design.pdi"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert read.returncode == 0, read.stdout + read.stderr
    assert "aie_image" in read.stdout
    assert pdi.parse(artifact.files["design.pdi"]).encode() == artifact.files["design.pdi"]
