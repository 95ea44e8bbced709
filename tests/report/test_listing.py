"""How a listing looks, and that it is assembly."""

from __future__ import annotations

import io
from collections.abc import Callable

from aiepipe.description import Listing
from aiepipe.isa.disassembly import reassemble
from aiepipe.report.listing import print_listing

from . import artifacts


def piped(listing: Listing, *, raw: bool = False) -> str:
    out = io.StringIO()
    print_listing(listing, out, raw=raw)
    return out.getvalue()


def test_a_listing_looks_as_it_did(golden: Callable[[str, str], None]) -> None:
    listing = artifacts.listed(artifacts.program().encode())
    golden("listing.txt", piped(listing) + "\n" + piped(listing, raw=True))


def test_the_text_assembles_to_the_same_bytes() -> None:
    listing = artifacts.listed(artifacts.program().encode())
    for raw in (False, True):
        assert reassemble(piped(listing, raw=raw)) == artifacts.program().segments[0].data


def test_slots_stand_in_columns() -> None:
    lines = [line for line in piped(artifacts.listed(artifacts.container())).splitlines() if "add r1" in line]
    assert len(lines) == 9
    assert len({line.index("add r1") for line in lines}) == 1


def test_loops_labels_and_data_are_marked() -> None:
    lines = piped(artifacts.listed(artifacts.program().encode())).splitlines()
    assert "count:" in lines
    assert any("j #count" in line for line in lines)
    assert any(line.endswith("// loop start") for line in lines)
    assert any(line.endswith("// loop end") for line in lines)
    assert any(line.endswith("// delay slot 5") for line in lines)
    assert any(line.endswith("// buffer") for line in lines)
    assert any(".byte 0x05, 0x00, 0xff, 0xff  // no instruction" in line for line in lines)
