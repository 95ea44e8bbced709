"""The options that commands share: their names, types and help texts."""

from __future__ import annotations

from typing import Annotated

import typer

File = Annotated[str, typer.Argument(help="An MLIR file; - reads standard input.", show_default=False)]
Artifact = Annotated[str, typer.Argument(help="An artifact; - reads standard input.", show_default=False)]
Function = Annotated[
    str | None,
    typer.Option(
        "--function",
        "-f",
        help="The public function; needed where there are several and none is called main.",
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        help="One argument, in order: 64x16xi32=1 (splat), 2x2xi32=1,2,3,4, 3 (scalar), "
        "64x16xi32=@file, @file.npy. Without any, drawn from --seed.",
        show_default=False,
    ),
]
Expected = Annotated[
    list[str] | None,
    typer.Option(
        "--expected-output",
        "--expected_output",
        help="One result, in order, in the syntax of --input. Without any, numpy evaluates the MLIR.",
        show_default=False,
    ),
]
OutputDirectory = Annotated[
    str | None, typer.Option("-o", "--output", help="Keep every file in this folder.", show_default=False)
]
IreeFlags = Annotated[
    list[str] | None,
    typer.Option(
        "--iree-flag", help="Passed to IREE's compiler, in order; may be given again.", show_default=False
    ),
]
Backend = Annotated[str, typer.Option("--backend", help="The compiler of dispatches.")]
BackendOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--backend-option",
        help="NAME=VALUE for an external compiler: install-dir, peano-dir, device-hal, target-device, "
        "work-dir, timeout, ... (docs/backends.md).",
        show_default=False,
    ),
]
BackendFlags = Annotated[
    list[str] | None,
    typer.Option(
        "--backend-flag",
        help="Passed to the external compiler as it is, in order; may be given again.",
        show_default=False,
    ),
]
IreeInstallDir = Annotated[
    str | None,
    typer.Option(
        "--iree-install-dir",
        help="Where iree-amd-aie is; the same as --backend-option install-dir=DIR, or IREE_INSTALL_DIR.",
        show_default=False,
    ),
]
PeanoDir = Annotated[
    str | None,
    typer.Option(
        "--peano-dir",
        help="Where Peano is; the same as --backend-option peano-dir=DIR, or PEANO_INSTALL_DIR.",
        show_default=False,
    ),
]
Device = Annotated[str, typer.Option("--device", help="auto, hardware or emulated.")]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds until a run is given up.", min=0.001)]
Policy = Annotated[
    str,
    typer.Option(
        "--sync-policy",
        help="Which buffers are synced, which way, when; `aiepipe policies` lists the names.",
    ),
]
Repeat = Annotated[int, typer.Option("--repeat", help="Run this many times.", min=1)]
CoherencySeed = Annotated[
    int, typer.Option("--coherency-seed", help="Seed of the emulated host cache's evictions.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", help="Seed of random inputs; drawn and printed when not given.", show_default=False
    ),
]
Engine = Annotated[str, typer.Option("--engine", help="How emulated cores run: jit or plain.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="The equivalent iree-compile and XRT steps, and the whole run log."),
]
Oracle = Annotated[str, typer.Option("--oracle", help="numpy, or iree: IREE's llvm-cpu as a second opinion.")]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        help="Exit 5 where there is one: hazard (the sync sanitizer's), array (a finding in the array), or "
        "both with a comma.",
        show_default=False,
    ),
]
CheckCores = Annotated[
    bool,
    typer.Option(
        "--check",
        help="Watch the array's memories: reads of bytes nobody wrote, races, stacks that overflow.",
    ),
]
TraceFile = Annotated[
    str | None,
    typer.Option(
        "--trace", help="Write a timeline for ui.perfetto.dev to this JSON file.", show_default=False
    ),
]
TraceInstructions = Annotated[
    bool,
    typer.Option("--trace-instructions", help="In the timeline, each bundle too (slow; the plain engine)."),
]
Closeness = Annotated[
    str | None,
    typer.Option(
        "--tolerance",
        help="exact, rtol=1e-3, atol=1e-6 or both with a comma; without it, derived from the types.",
        show_default=False,
    ),
]
HostCache = Annotated[
    str,
    typer.Option(
        "--coherency",
        help="The emulated host cache: x86-clflush, inv-on-from or coherent; with +unfenced or +whole-bo.",
    ),
]
Suppress = Annotated[
    list[str] | None,
    typer.Option(
        "--suppress", help="A hazard not to report: S013, or S013@*/driver.py:12.", show_default=False
    ),
]
Sarif = Annotated[
    str | None,
    typer.Option(
        "--sarif", help="Write the sanitizer's findings to this file, as SARIF 2.1.0.", show_default=False
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="What the backend chose, why, and what bounds it.")]
Emit = Annotated[
    str | None,
    typer.Option(
        "--emit",
        help="Print instead: asm, the cores' annotated assembly; aie, the design in the aie dialect.",
        show_default=False,
    ),
]
Fallback = Annotated[
    str | None,
    typer.Option(
        "--fallback",
        help="cpu: dispatches that the backend cannot lower run on the CPU through IREE (and are named).",
        show_default=False,
    ),
]
Cores = Annotated[
    str | None,
    typer.Option(
        "--cores", help="How many cores at most, or which: 4x4, rows and columns.", show_default=False
    ),
]
Tile = Annotated[
    str | None,
    typer.Option("--tile", help="The largest tile of a core: m,n,k.", metavar="M,N,K", show_default=False),
]
Html = Annotated[
    str | None,
    typer.Option("--html", help="Write the report as one self-contained page.", show_default=False),
]
Compare = Annotated[
    str | None,
    typer.Option("--compare", help="In the page, compare with this earlier --json.", show_default=False),
]
HtmlEarlier = Annotated[
    str | None,
    typer.Option(
        "--html-earlier", help="In the page, compare with this earlier --json report.", show_default=False
    ),
]


def backend_options_of(
    given: list[str] | None,
    install_dir: str | None,
    peano_dir: str | None,
    cores: str | None,
    tile: str | None,
) -> tuple[str, ...]:
    """The options of a backend, those with a name of their own first."""
    named = (("install-dir", install_dir), ("peano-dir", peano_dir), ("cores", cores), ("tile", tile))
    return (*(f"{name}={value}" for name, value in named if value is not None), *(given or ()))
