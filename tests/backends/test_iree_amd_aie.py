"""The driver of iree-amd-aie against the recorded contract of its compiler, and against real artifacts.

The recorded executable refuses any call that iree-amd-aie's sources say the real one refuses; the artifacts
in it are the built-in backend's or the corpus'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aiepipe.backends.iree_amd_aie import IreeAmdAieBackend
from aiepipe.backends.settings import BackendRequest, resolve
from aiepipe.codegen.options import CompileOptions
from aiepipe.errors import ArtifactError, CompileError, UsageError, WorkerCrash
from aiepipe.flows.build_run import BuildRunOptions, build_run
from aiepipe.flows.device import RunSettings
from aiepipe.formats import xclbin
from aiepipe.program import Artifact, Dispatch
from aiepipe.verdict import Agreement

from .conftest import Install, Installation, Sample
from .iree_module import module

Samples = Callable[[str], Sample]
THREE = (
    "--iree-scheduling-optimize-bindings=false",
    "--iree-hal-memoization=false",
    "--iree-hal-indirect-command-buffers=false",
)

pytestmark = pytest.mark.usefixtures("elsewhere")


def backend(*options: str, flags: tuple[str, ...] = (), **environment: str) -> IreeAmdAieBackend:
    request = BackendRequest(options, flags, environment)
    return IreeAmdAieBackend(resolve("iree-amd-aie", IreeAmdAieBackend.SETTINGS, request))


def compiled(found: IreeAmdAieBackend, sample: Sample) -> Artifact:
    """The artifact of a sample's only dispatch."""
    (artifact,) = found.compile_module(
        sample.program, sample.program.dispatches, options=CompileOptions()
    ).values()
    return artifact


def test_the_call_is_the_one_that_iree_amd_aies_ci_makes(samples: Samples, install: Install) -> None:
    sample, installed = samples("matmul.mlir"), None
    installed = install(sample)
    artifact = compiled(backend(*installed.options, "device-hal=xrt"), sample)
    *probes, call = installed.calls()
    assert probes == [["--iree-hal-list-target-backends"], ["--version"], ["--help"]]
    assert call[0] == "matmul.mlir"
    assert call[-2:] == ["-o", "module.vmfb"]
    assert set(THREE) < set(call)
    assert "--iree-hal-target-backends=amd-aie" in call
    assert "--iree-amdaie-target-device=npu1_4col" in call
    assert "--iree-amdaie-device-hal=xrt" in call
    assert f"--iree-amd-aie-peano-install-dir={installed.peano}" in call
    assert f"--iree-amd-aie-install-dir={installed.folder}" in call
    assert any(note.startswith("$ ") and "iree-compile matmul.mlir" in note for note in artifact.notes)
    assert "iree-compile.log" in artifact.files


@pytest.mark.parametrize(
    ("era", "wish", "flag", "wrapped"),
    [
        ("2026", None, "--iree-amdaie-device-hal=amdxdna", True),
        ("2026", "xrt", "--iree-amdaie-device-hal=xrt", False),
        ("2026", "xrt-lite", "--iree-amdaie-device-hal=amdxdna", True),
        ("2025", None, "--iree-amdaie-device-hal=xrt-lite", True),
        ("2025", "amdxdna", "--iree-amdaie-device-hal=xrt-lite", True),
        ("2024", None, None, False),
        ("2024", "xrt", None, False),
    ],
)
@pytest.mark.parametrize("no_module", [False, True])
def test_each_era_and_device_hal_gives_the_same_kernel(
    samples: Samples, install: Install, era: str, wish: str | None, flag: str | None, wrapped: bool,
    no_module: bool,
) -> None:  # fmt: skip
    sample = samples("matmul.mlir")
    installed = install(sample, era, no_module=no_module)
    options = () if wish is None else (f"device-hal={wish}",)
    artifact = compiled(backend(*installed.options, *options), sample)
    said = [word for word in installed.calls()[-1] if word.startswith("--iree-amdaie-device-hal")]
    assert said == ([] if flag is None else [flag])
    (ours,) = sample.artifacts.values()
    parsed = xclbin.parse(artifact.xclbin)
    (kernel,) = parsed.kernels()
    assert parsed.pdi_for(kernel) == ours.files["design.pdi"]
    assert (kernel.name, kernel.instance) == (ours.entry, "IREE")
    assert parsed.partition().column_width == 4
    assert artifact.instructions == ours.instructions
    assert artifact.bindings == ours.bindings
    # the compiler's own xclbins always declare six buffers, a wrapped one those that there are
    assert len(kernel.data_arguments) == (3 if wrapped else 6)


def test_the_width_of_the_wrapped_partition_is_the_targets(samples: Samples, install: Install) -> None:
    sample = samples("matmul.mlir")
    installed = install(sample)
    artifact = compiled(backend(*installed.options, "target-device=npu1_1col"), sample)
    assert xclbin.parse(artifact.xclbin).partition().column_width == 1


def test_several_dispatches_get_the_kernels_of_their_names(samples: Samples, install: Install) -> None:
    sample = samples("matmul_chain.mlir")
    installed = install(sample)
    made = backend(*installed.options).compile_module(
        sample.program, sample.program.dispatches, options=CompileOptions()
    )
    assert {name: a.instructions for name, a in made.items()} == {
        name: a.instructions for name, a in sample.artifacts.items()
    }
    assert len(made) == len(sample.program.dispatches) > 1


def test_build_run_runs_what_the_external_compiler_made(samples: Samples, install: Install) -> None:
    installed = install(samples("matmul.mlir"))
    report = build_run(
        BuildRunOptions(
            "matmul.mlir",
            inputs=("64x16xi32=1", "16x64xi32=2"),
            expected=("64x64xi32=39",),
            backend="iree-amd-aie",
            backend_options=installed.options,
            settings=RunSettings(device="emulated"),
        )
    )
    assert report.agreement is Agreement.PASS
    assert [d.backend for d in report.dispatches] == ["iree-amd-aie"]
    assert f"--backend-option install-dir={installed.folder}" in report.repeat_with
    stage = next(stage for stage in report.stages if stage.name == "backend")
    assert any(line.startswith("$ ") for line in stage.details)


def test_the_environment_and_a_configuration_file_name_the_compiler(
    samples: Samples, install: Install, elsewhere: Path
) -> None:
    sample = samples("matmul.mlir")
    installed = install(sample)
    found = backend(IREE_INSTALL_DIR=str(installed.folder), PEANO_INSTALL_DIR=str(installed.peano))
    assert compiled(found, sample).backend == "iree-amd-aie"
    (elsewhere / "aiepipe.toml").write_text(
        f'[backend.iree-amd-aie]\ninstall-dir = "{installed.folder}"\npeano-dir = "{installed.peano}"\n'
    )
    report = build_run(
        BuildRunOptions("matmul.mlir", backend="iree-amd-aie", settings=RunSettings(device="emulated"))
    )
    assert report.agreement is Agreement.PASS


def test_what_was_compiled_elsewhere_needs_no_compiler(samples: Samples, tmp_path: Path) -> None:
    sample = samples("matmul.mlir")
    (ours,) = sample.artifacts.values()
    (tmp_path / "there.vmfb").write_bytes(
        module(b"PDIR", [(ours.entry, ours.files["design.pdi"], [ours.instructions])])
    )
    artifact = compiled(backend(f"artifacts={tmp_path / 'there.vmfb'}"), sample)
    assert artifact.instructions == ours.instructions


def test_the_real_module_of_2024_gives_its_kernel(samples: Samples, corpus: Path) -> None:
    # iree-amd-aie of Mar 2024 for 64x64x64: names in full, xclbin inside, an lx6 stream
    folder = corpus / "iree-seed-matmul-i32"
    sample = samples("matmul.mlir")
    dispatch = replace(sample.program.dispatches[0], name="matmul_dispatch_0_matmul_64x64x64_i32")
    made = backend(f"artifacts={folder / 'module.vmfb'}").compile_module(
        sample.program, [dispatch], options=CompileOptions()
    )
    artifact = made[dispatch.name]
    assert artifact.xclbin == (folder / "final.xclbin").read_bytes()
    assert artifact.convention.value == "lx6"


# --------------------------------------------------------------------------- what goes wrong


def failure(found: IreeAmdAieBackend, sample: Sample) -> CompileError:
    with pytest.raises(CompileError) as caught:
        compiled(found, sample)
    return caught.value


def test_without_peano_the_remedy_names_the_option(samples: Samples, install: Install) -> None:
    sample = samples("matmul.mlir")
    installed = install(sample)
    error = failure(backend(f"install-dir={installed.folder}"), sample)
    assert "Peano" in error.message
    assert error.remedy is not None
    assert "--peano-dir" in error.remedy
    assert "iree-compile.log" in error.remedy
    assert "bin/opt does not exist" in error.diagnostics
    assert "$ " in error.diagnostics


@pytest.mark.parametrize(
    ("says", "remedy"),
    [
        ("error: [AIE ERROR] _XAie_LoadProgMemSection():231: Overflow of program memory", "outlining"),
        ("ld.lld: error: undefined symbol: matmul_i8_i8_i32_64x64x8_4x8x8", "enable-ukernels=none"),
        ("error: required stack size 1312 exceeds the allocated 1024", "stack-size"),
        ("error: could not find iree-aie-xclbinutil", "device-hal=amdxdna"),
        ("error: unable to find a legal routing: arbiter", "packet-flow-strategy"),
        ("error: unhandled NPU partitioning.", "target-device"),
        ("[ERROR]: bootgen: syntax error in design.bif", "function names"),
        ("error: something new", "log is"),
    ],
)
def test_known_failures_have_remedies(samples: Samples, install: Install, says: str, remedy: str) -> None:
    sample = samples("matmul.mlir")
    error = failure(backend(*install(sample, says=says).options), sample)
    assert error.remedy is not None
    assert remedy in error.remedy
    assert says in error.diagnostics


def test_a_crash_has_its_signal_and_a_hang_its_limit(samples: Samples, install: Install) -> None:
    sample = samples("matmul.mlir")
    crash = failure(backend(*install(sample, signal="SIGSEGV").options), sample)
    assert isinstance(crash, WorkerCrash)
    assert crash.signal == "SIGSEGV"
    late = failure(backend(*install(sample, sleeps=60).options, "timeout=0.5"), sample)
    assert isinstance(late, WorkerCrash)
    assert "0.5 s" in late.message


def test_a_failed_compilation_leaves_its_folder_a_successful_one_does_not(
    samples: Samples, install: Install, tmp_path: Path
) -> None:
    sample = samples("matmul.mlir")
    compiled(backend(*install(sample).options), sample)
    assert not list(tmp_path.glob("aiepipe-external-*"))
    failure(backend(*install(sample, says="error: no").options), sample)
    (folder,) = tmp_path.glob("aiepipe-external-*")
    assert "error: no" in (folder / "iree-compile.log").read_text()


def test_other_dispatches_than_ours_are_told(samples: Samples, install: Install) -> None:
    sample = samples("matmul.mlir")
    error = failure(backend(*install(samples("matmul_chain.mlir")).options), sample)
    assert "has 0 kernels for dispatch matmul_dispatch_0_matmul_64x64x16_i32" in error.message


def usage(found: IreeAmdAieBackend, sample: Sample) -> UsageError:
    with pytest.raises(UsageError) as caught:
        compiled(found, sample)
    return caught.value


def test_a_compiler_without_the_plug_in_is_refused(samples: Samples, install: Install) -> None:
    sample = samples("matmul.mlir")
    installed = install(sample, targets=["llvm-cpu", "vmvx"])
    error = usage(backend(*installed.options), sample)
    assert "no target backend amd-aie; it has: llvm-cpu, vmvx" in error.message
    assert installed.calls() == [["--iree-hal-list-target-backends"]]


@pytest.mark.parametrize(
    ("options", "flags", "message"),
    [
        (("install-dir=/no/such",), (), "not there"),
        (("target-device=npu4",), (), "not for npu1"),
        ((), ("--iree-amdaie-tile-pipelines=x",), "no option iree-amdaie-tile-pipelines"),
        (("timeout=soon",), (), "not a number of seconds"),
        (("work-dir=with space",), (), "characters"),
    ],
)
def test_wrong_options_are_usage_errors(
    samples: Samples, install: Install, options: tuple[str, ...], flags: tuple[str, ...], message: str
) -> None:
    sample = samples("matmul.mlir")
    installed: Installation = install(sample)
    assert message in usage(backend(*installed.options, *options, flags=flags), sample).message


def test_the_users_flags_win_over_ours(samples: Samples, install: Install) -> None:
    sample = samples("matmul.mlir")
    installed = install(sample)
    flags = ("--iree-amdaie-stack-size=2048", "--iree-amdaie-target-device=npu1_2col")
    compiled(backend(*installed.options, flags=flags), sample)
    call = installed.calls()[-1]
    assert call[-4:-2] == list(flags)
    assert "--iree-amdaie-target-device=npu1_4col" not in call


def test_a_kernel_of_several_runs_is_refused(samples: Samples, tmp_path: Path) -> None:
    sample = samples("matmul.mlir")
    (ours,) = sample.artifacts.values()
    streams = [ours.instructions, ours.instructions]
    (tmp_path / "m.vmfb").write_bytes(module(b"PDIR", [(ours.entry, ours.files["design.pdi"], streams)]))
    assert "2 runs" in failure(backend(f"artifacts={tmp_path / 'm.vmfb'}"), sample).message


def test_a_folder_without_kernels_is_an_artifact_error(samples: Samples, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no kernel"):
        compiled(backend(f"artifacts={tmp_path / 'elsewhere'}"), samples("matmul.mlir"))


def test_a_kernel_with_more_buffers_than_the_dispatch_is_refused(samples: Samples, tmp_path: Path) -> None:
    sample = samples("matmul.mlir")
    (ours,) = sample.artifacts.values()
    dispatch: Dispatch = replace(sample.program.dispatches[0], bindings=ours.bindings[:2])
    (tmp_path / "m.vmfb").write_bytes(
        module(b"PDIR", [(ours.entry, ours.files["design.pdi"], [ours.instructions])])
    )
    with pytest.raises(CompileError, match="uses data buffer 2"):
        backend(f"artifacts={tmp_path / 'm.vmfb'}").compile_module(
            sample.program, [dispatch], options=CompileOptions()
        )
