"""`aiepipe dump`: any artifact explained."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .options import Artifact, Json


def dump_command(
    file: Artifact,
    sections: Annotated[
        list[str] | None,
        typer.Option(
            "--section",
            help="Only this part; may be given again: header, sections, banks, kernels, entries, partition, "
            "routes, bds, locks, tasks, memory, commands, transfers, operations, segments, symbols, packets.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="What to take the file for, instead of what its bytes say: xclbin, pdi, cdo, txn, lx6, "
            "elf, vmfb, control-packets.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain any artifact by its content: registers by name, BDs in words, routes drawn.

    Reads xclbins, PDIs, CDOs, instruction streams (TXN, lx6; text or binary), core ELFs, IREE modules
    (.vmfb) and control packets, whatever they are called.

    \b
    Examples:
      aiepipe dump final.xclbin
      aiepipe dump final.xclbin --section routes --section bds
      aiepipe dump insts.txt --json
    """
    from ..flows.dump import DumpOptions, dump  # noqa: PLC0415  (keeps --help fast)
    from ..report.dump import print_dump  # noqa: PLC0415
    from ..report.dump_json import print_dump_json  # noqa: PLC0415

    found = dump(DumpOptions(file, tuple(sections or ()), kind))
    if as_json:
        print_dump_json(found, sys.stdout)
    else:
        print_dump(found, sys.stdout)
