"""`aiepipe disasm`: core programs as text."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .options import Artifact, Json


def disasm_command(
    file: Artifact,
    core: Annotated[
        str | None, typer.Option("--core", help="Only this core: COLUMN,ROW.", show_default=False)
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Each bundle's bytes, too.")] = False,
    as_json: Json = False,
) -> None:
    """Disassemble the core programs of an ELF, xclbin, PDI, CDO or IREE module (.vmfb).

    A bundle per line, a column per slot; branch targets and loops are labelled. Bytes that are no
    instruction are shown as data.

    \b
    Examples:
      aiepipe disasm core_0_2.elf
      aiepipe disasm final.xclbin --core 0,2 --raw
    """
    from ..flows.disasm import DisasmOptions, disasm  # noqa: PLC0415
    from ..report.dump_json import print_listing_json  # noqa: PLC0415
    from ..report.listing import print_listing  # noqa: PLC0415

    listing = disasm(DisasmOptions(file, core))
    if as_json:
        print_listing_json(listing, sys.stdout)
    else:
        print_listing(listing, sys.stdout, raw=raw)
