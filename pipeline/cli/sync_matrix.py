"""`aiepipe sync-matrix`: which missing sync explains wrong runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..report.progress import progress_line
from .exits import EXIT_WRONG
from .options import (
    Backend,
    BackendOptions,
    CoherencySeed,
    Device,
    File,
    Function,
    Inputs,
    IreeFlags,
    Json,
    Sarif,
    Seed,
    Timeout,
)
from .output import write_sarif


def sync_matrix_command(
    file: File,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            help="Runs of each cell; as many as fit into some 15 s when not given.",
            min=1,
            show_default=False,
        ),
    ] = None,
    function: Function = None,
    inputs: Inputs = None,
    coherency_seed: CoherencySeed = 0,
    seed: Seed = None,
    device: Device = "auto",
    evict: Annotated[
        float,
        typer.Option(
            "--evict", help="Chance that a dirty line leaves the cache before a run.", min=0.0, max=1.0
        ),
    ] = 0.997,
    timeout: Timeout = 60.0,
    backend: Backend = "builtin",
    backend_options: BackendOptions = None,
    iree_flags: IreeFlags = None,
    sarif: Sarif = None,
    as_json: Json = False,
) -> int:
    """Run a program under every combination of syncs: which sync is missing when runs are wrong?

    Outputs untouched, zeroed, poisoned; their syncs to and from the device on and off; inputs unsynced; the
    named policies; each on every kind of host cache.

    \b
    Examples:
      aiepipe sync-matrix mlir/matmul.mlir
      aiepipe sync-matrix mlir/matmul.mlir --runs 100 --coherency-seed 1 --json

    Exit code 0: the default policy is right in all runs; 1: it is not.
    """
    from ..flows.sync_matrix import SyncMatrixOptions, sync_matrix  # noqa: PLC0415
    from ..report.sync_matrix import matrix_json, print_matrix  # noqa: PLC0415

    options = SyncMatrixOptions(
        file=file,
        function=function,
        inputs=tuple(inputs or ()),
        runs=runs,
        coherency_seed=coherency_seed,
        seed=seed,
        device=device,
        evict=evict,
        backend=backend,
        backend_options=tuple(backend_options or ()),
        iree_flags=tuple(iree_flags or ()),
        timeout_s=timeout,
    )
    with progress_line() as progress:
        matrix = sync_matrix(options, progress)
    write_sarif(sarif, matrix.findings)
    if as_json:
        sys.stdout.write(matrix_json(matrix))
    else:
        print_matrix(matrix, sys.stdout)
    return 0 if matrix.default_is_right else EXIT_WRONG
