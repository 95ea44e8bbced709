"""`aiepipe build`: compile to artifacts."""

from __future__ import annotations

import sys

from ..errors import UsageError
from ..report.progress import progress_line
from .options import (
    Backend,
    BackendFlags,
    BackendOptions,
    Cores,
    Emit,
    Explain,
    Fallback,
    File,
    Function,
    Inputs,
    IreeFlags,
    IreeInstallDir,
    Json,
    OutputDirectory,
    PeanoDir,
    Tile,
    Verbose,
    backend_options_of,
)
from .output import show


def build_command(
    file: File,
    output: OutputDirectory = None,
    function: Function = None,
    inputs: Inputs = None,
    backend: Backend = "builtin",
    backend_options: BackendOptions = None,
    backend_flags: BackendFlags = None,
    iree_install_dir: IreeInstallDir = None,
    peano_dir: PeanoDir = None,
    cores: Cores = None,
    tile: Tile = None,
    fallback: Fallback = None,
    iree_flags: IreeFlags = None,
    emit: Emit = None,
    explain: Explain = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> int:
    """Compile an MLIR file to xclbins and instruction streams.

    \b
    Examples:
      aiepipe build mlir/matmul.mlir -o out        # out/*.xclbin, out/*.npu_inst.txt, out/program.json
      aiepipe build mlir/matmul.mlir -o out --explain
      aiepipe build mlir/matmul.mlir --emit asm    # or aie; files are kept only with -o
    """
    from ..flows.build import BuildOptions, build, emit_text  # noqa: PLC0415

    options = BuildOptions(
        file=file,
        output_directory=output or "aiepipe-out",
        function=function,
        inputs=tuple(inputs or ()),
        backend=backend,
        backend_options=backend_options_of(backend_options, iree_install_dir, peano_dir, cores, tile),
        backend_flags=tuple(backend_flags or ()),
        iree_flags=tuple(iree_flags or ()),
        fallback=fallback,
        emit=emit,
    )
    if emit is not None:
        if as_json:
            raise UsageError("--emit prints a text, --json a document", remedy="give one of them")
        with progress_line() as progress:
            text, warnings = emit_text(options, progress, keep=output is not None)
        sys.stdout.write(text)
        sys.stderr.writelines(f"warning: {warning}\n" for warning in warnings)
        return 0
    return show(build, options, as_json=as_json, verbose=verbose or explain)
