"""iree-amd-aie as a backend: the user's own iree-compile, given the whole file, and what it leaves.

It reads the file itself and forms dispatches with its own IREE; each dispatch of our front end gets the
kernel of the same name. The host program stays ours, so that a run is synced, logged and compared as any
other. Either device HAL will do: `xrt` gives xclbins, `amdxdna` (once `xrt-lite`) bare PDIs, which become
xclbins here. Source: iree-amd-aie's CI command line; facts/iree-amd-aie.md sections 1 and 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import ArtifactError, CompileError, UsageError
from ..formats import instructions, txn, xclbin
from ..formats.vmfb import ContainerKind
from ..program import Artifact, Dispatch, Program
from .failures import compile_failure
from .iree_compiler import IreeCompiler, find, probe, unknown_to
from .iree_kernels import ForeignKernel, assign, collect
from .protocol import CompileOptions, executable_identity
from .settings import BackendSettings, KnownSetting
from .tool import ToolRun, run_tool
from .work_folder import work_folder

NAME = "iree-amd-aie"
INSTANCE = "IREE"
DEFAULT_TARGET = "npu1_4col"
DEFAULT_TIMEOUT_S = 600.0
BUFFERS_MAXIMUM = 6
LOG = "iree-compile.log"

SCHEDULING_FLAGS = (
    "--iree-scheduling-optimize-bindings=false",
    "--iree-hal-memoization=false",
    "--iree-hal-indirect-command-buffers=false",
)
"""Both of iree-amd-aie's HAL drivers refuse command buffers with binding tables; and a kernel's buffers are
whole tensors only where bindings are not folded."""

# the newest name of the HAL that talks to the driver itself stands first
_DRIVER_HALS = ("amdxdna", "xrt-lite")


class IreeAmdAieBackend:
    """Compiles whole files with an installed iree-amd-aie."""

    name = NAME
    SETTINGS = (
        KnownSetting("install-dir", "the folder that iree-amd-aie was installed to", ("IREE_INSTALL_DIR",)),
        KnownSetting("peano-dir", "Peano's folder, with bin/clang", ("PEANO_INSTALL_DIR",)),
        KnownSetting("vitis-dir", "Vitis, where chess is used", ("VITIS_DIR", "XILINX_VITIS", "VITIS")),
        KnownSetting("mlir-aie-dir", "mlir-aie's folder (versions of 2024)", ("MLIR_AIE_INSTALL_DIR",)),
        KnownSetting("target-device", "npu1_1col to npu1_4col, or npu4; npu1_4col by default"),
        KnownSetting(
            "device-hal", "xrt or amdxdna; by default the one it offers first", (), ("xrt", *_DRIVER_HALS)
        ),
        KnownSetting("artifacts", "use what was compiled elsewhere: a dump folder or a .vmfb"),
        KnownSetting("work-dir", "keep everything that the compiler leaves here"),
        KnownSetting("timeout", "seconds until the compiler is given up; 600 by default"),
    )

    def __init__(self, settings: BackendSettings) -> None:
        self._settings = settings

    def compile_module(
        self, program: Program, dispatches: Sequence[Dispatch], *, options: CompileOptions
    ) -> Mapping[str, Artifact]:
        """An artifact per dispatch. Raises CompileError, ArtifactError, UsageError."""
        _check(program, dispatches)
        ready = self._settings.path("artifacts")
        if ready is not None:
            kernels = collect(*_places(ready))
            notes = (f"kernels of {ready}",)
            return self._artifacts(dispatches, kernels, options, notes, {})
        with work_folder(self._settings) as folder:
            compiler = probe(find(self._settings), folder)
            run, device = self._compile(compiler, program, folder)
            kernels = collect(folder / "dump", folder / "module.vmfb")
            files = {LOG: run.log.read_bytes()}
            notes = (f"{compiler.path}: {compiler.version}, {device}", f"$ {run.line}")
            return self._artifacts(dispatches, kernels, options, notes, files)

    def compiler_identity(self) -> str:
        """Changes when the installed compiler does. Raises UsageError where there is none."""
        return executable_identity(find(self._settings))

    def _compile(self, compiler: IreeCompiler, program: Program, folder: Path) -> tuple[ToolRun, str]:
        stem = re.sub(r"\W", "_", Path(program.source.file).stem) or "module"
        source = folder / f"{stem}.mlir"
        source.write_text(program.source.text, encoding="utf-8")
        (folder / "dump").mkdir(exist_ok=True)
        flags = command_flags(compiler, self._settings, program.flags, folder / "dump")
        command = [str(compiler.path), source.name, *flags, "-o", "module.vmfb"]
        run = run_tool(
            command,
            folder=folder,
            log=folder / LOG,
            timeout_s=self._settings.seconds("timeout", DEFAULT_TIMEOUT_S),
        )
        if run.exit_code != 0:
            raise compile_failure(NAME, run, program.source.file)
        device = next((f.partition("=")[2] for f in flags if f.startswith("--iree-amdaie-device-hal")), "xrt")
        return run, f"device HAL {device}"

    def _artifacts(
        self,
        dispatches: Sequence[Dispatch],
        kernels: Sequence[ForeignKernel],
        options: CompileOptions,
        notes: Sequence[str],
        files: Mapping[str, bytes],
    ) -> dict[str, Artifact]:
        columns = _columns(self._settings.get("target-device") or DEFAULT_TARGET)
        found = assign(dispatches, kernels)
        return {d.name: artifact(d, found[d.name], columns, options, tuple(notes), files) for d in dispatches}


def command_flags(
    compiler: IreeCompiler, settings: BackendSettings, front_end: Sequence[str], dump: Path
) -> list[str]:
    """The flags for this compiler, by the names that it knows. Raises UsageError.

    `front_end` are the flags of our own front end: dispatches are formed alike only with the same.
    """
    flags = ["--iree-hal-target-backends=amd-aie"]
    target = settings.get("target-device") or DEFAULT_TARGET
    if compiler.has("iree-amdaie-target-device"):
        flags.append(f"--iree-amdaie-target-device={target}")
    hal = _device_hal(compiler, settings)
    if hal is not None:
        flags.append(f"--iree-amdaie-device-hal={hal}")
    for option, setting in (
        ("iree-amd-aie-peano-install-dir", "peano-dir"),
        ("iree-amd-aie-vitis-install-dir", "vitis-dir"),
        ("iree-amd-aie-mlir-aie-install-dir", "mlir-aie-dir"),
        ("iree-amd-aie-install-dir", "install-dir"),
    ):
        folder = settings.path(setting)
        if folder is not None and compiler.has(option):
            flags.append(f"--{option}={folder}")
    flags.append(f"--iree-hal-dump-executable-files-to={dump}")
    if compiler.has("iree-amd-aie-show-invoked-commands"):
        flags.append("--iree-amd-aie-show-invoked-commands")
    given = {_option(flag) for flag in settings.flags}
    ours = [
        *SCHEDULING_FLAGS,
        *(flag for flag in front_end if not _option(flag).startswith("iree-hal-target-")),
    ]
    for flag in dict.fromkeys(ours):
        if compiler.has(_option(flag)):
            flags.append(flag)
    unknown = unknown_to(compiler, settings.flags)
    if unknown:
        raise UsageError(
            f"{compiler.path} has no option {_option(unknown[0])}",
            remedy="`iree-compile --help` lists them; those of the plug-in begin with iree-amdaie",
        )
    # an option given twice is an error for LLVM's command line
    return [flag for flag in flags if _option(flag) not in given] + list(settings.flags)


def _device_hal(compiler: IreeCompiler, settings: BackendSettings) -> str | None:
    """The device HAL by the name that this compiler has for it; None where it has only one.

    Without a wish, the one that needs no xclbinutil: its PDI becomes an xclbin here.
    """
    wish = settings.get("device-hal")
    values = compiler.options.get("iree-amdaie-device-hal")
    if values is None:
        if wish not in (None, "xrt"):
            raise UsageError(
                f"{compiler.path} knows no device HAL but xrt", remedy="leave device-hal away, or say xrt"
            )
        return None
    driver = next((name for name in _DRIVER_HALS if name in values), None)
    if wish == "xrt":
        return "xrt"
    if driver is None:
        if wish is None:
            return "xrt"
        raise UsageError(f"{compiler.path} has the device HALs {', '.join(values)}")
    return driver


def artifact(
    dispatch: Dispatch,
    kernel: ForeignKernel,
    columns: int,
    options: CompileOptions,
    notes: tuple[str, ...],
    files: Mapping[str, bytes],
) -> Artifact:
    """The artifact of one dispatch; a bare PDI is wrapped into an xclbin.

    Raises CompileError where the kernel is not called as the dispatch is.
    """
    if len(kernel.streams) != 1 or not kernel.container:
        raise CompileError(
            f"kernel {kernel.entry} needs {len(kernel.streams)} runs of its own (it reconfigures the array)",
            location=dispatch.location,
            op="dispatch",
            remedy="compile without --iree-amdaie-enable-control-packet and --iree-amdaie-reprogram-dmas",
        )
    stream = kernel.streams[0]
    _check_buffers(dispatch, kernel.entry, stream)
    if kernel.kind is ContainerKind.XCLBIN:
        container, made = kernel.container, f"{kernel.entry}: the compiler's own xclbin"
    else:
        container = xclbin.build(
            kernel.container,
            kernel=kernel.entry,
            buffers=len(dispatch.bindings),
            columns=columns,
            instance=INSTANCE,
            timestamp=options.source_date_epoch,
        ).encode()
        made = f"{kernel.entry}: a PDI, wrapped into an xclbin for {columns} columns"
    kernels = xclbin.parse(container).kernels()
    named = next((k for k in kernels if k.name == kernel.entry), kernels[0] if kernels else None)
    if named is None:
        raise ArtifactError("the xclbin has no kernel", artifact=xclbin.ARTIFACT)
    kept = {
        **files,
        **kernel.files,
        f"{kernel.entry}.xclbin": container,
        f"{kernel.entry}.npu_inst.bin": stream,
        f"{kernel.entry}.npu_inst.txt": instructions.to_text(stream).encode(),
    }
    return Artifact(
        dispatch=dispatch.name,
        entry=kernel.entry,
        kernel=named.name,
        xclbin=container,
        instructions=stream,
        bindings=dispatch.bindings,
        convention=named.convention,
        backend=NAME,
        files=kept,
        notes=(*notes, made),
    )


def _check_buffers(dispatch: Dispatch, entry: str, stream: bytes) -> None:
    """Refuses a kernel that uses a buffer which the dispatch does not have."""
    parsed = instructions.parse_instructions(stream)
    if not isinstance(parsed, txn.Transaction):
        return
    used = {op.argument for op in parsed.ops if isinstance(op, txn.DdrPatch)}
    if used and max(used) >= len(dispatch.bindings):
        raise CompileError(
            f"kernel {entry} uses data buffer {max(used)}, dispatch {dispatch.name} has "
            f"{len(dispatch.bindings)}",
            location=dispatch.location,
            op="dispatch",
            remedy="the two IREE versions bind differently: install the iree-base-compiler nearest to "
            "the external one",
        )


def _check(program: Program, dispatches: Sequence[Dispatch]) -> None:
    """What this compiler cannot do is said before it is started."""
    for function in program.functions:
        if function.scalars:
            raise CompileError(
                f"@{function.name} takes scalars, which {NAME} gets no values for",
                location=function.location,
                remedy="make them constants of the program, or use --backend builtin",
            )
    for dispatch in dispatches:
        if len(dispatch.bindings) > BUFFERS_MAXIMUM:
            raise CompileError(
                f"dispatch {dispatch.name} has {len(dispatch.bindings)} buffers, a kernel has at most "
                f"{BUFFERS_MAXIMUM}",
                location=dispatch.location,
                op="dispatch",
            )


def _places(ready: Path) -> tuple[Path, Path | None]:
    """The dump folder and module that `artifacts` means."""
    if ready.is_file():
        return ready.parent, ready
    modules = sorted(ready.glob("*.vmfb"))
    return ready, modules[0] if len(modules) == 1 else None


def _columns(target: str) -> int:
    found = re.fullmatch(r"npu1(?:_(\d)col)?", target)
    if found is None:
        raise UsageError(
            f"target-device {target} is not for npu1, the only device that aiepipe runs",
            remedy="one of: npu1_1col, npu1_2col, npu1_3col, npu1_4col",
        )
    return int(found[1] or 4)


def _option(flag: str) -> str:
    return flag.lstrip("-").split("=", 1)[0]
