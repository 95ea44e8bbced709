"""Dumps and listings as JSON: everything of the text is there as data."""

from __future__ import annotations

import io
import json
from typing import Any

from aiepipe.report.dump_json import print_dump_json, print_listing_json

from . import artifacts


def document(data: bytes, *sections: str) -> Any:
    out = io.StringIO()
    print_dump_json(artifacts.explained(data, *sections), out)
    return json.loads(out.getvalue())


def listing(data: bytes) -> Any:
    out = io.StringIO()
    print_listing_json(artifacts.listed(data), out)
    return json.loads(out.getvalue())


def test_the_schema_comes_first() -> None:
    found = document(artifacts.stream().encode())
    assert list(found)[:4] == ["schema", "file", "kind", "size_bytes"]
    assert found["schema"] == "aiepipe.dump/1"
    assert next(iter(listing(artifacts.program().encode()).items())) == ("schema", "aiepipe.disasm/1")


def test_a_container_holds_what_it_holds() -> None:
    found = document(artifacts.container())["content"]
    assert found["kind"] == "xclbin"
    image = found["images"][0]["image"]
    assert image["kind"] == "PDI"
    (route,) = image["configuration"]["routes"]
    assert route["end"] == {"tile": {"name": "core (0,2)", "column": 0, "row": 2}, "port": "S2MM 0"}
    assert [hop["master"] for hop in route["hops"]] == ["North0", "North0", "DMA0"]
    (bd,) = image["configuration"]["bds"]
    assert (bd["length_words"], bd["address"], bd["users"]) == (64, 0x400, ["S2MM 0"])
    assert bd["dimensions"] == [{"step_words": 1, "wrap": 8}, {"step_words": 8, "wrap": None}]
    assert len(bd["words"]) == 6


def test_registers_are_there_by_name_and_by_number() -> None:
    steps = document(artifacts.stream().encode())["content"]["operations"]
    (access,) = steps[2]["registers"]
    assert (access["register"], access["address"], access["value"]) == (
        "DMA_MM2S_START_QUEUE[0]",
        0x1D214,
        0x80010000,
    )
    assert {field["name"]: field["value"] for field in access["fields"]}["REPEAT_COUNT"] == 1
    assert steps[2]["task"]["count"] == 2
    assert steps[1]["patch"]["argument"] == 1


def test_only_the_parts_that_were_asked_for() -> None:
    content = document(artifacts.container(), "locks")["content"]
    assert "kernels" not in content
    configuration = content["images"][0]["image"]["configuration"]
    assert configuration["locks"]
    assert "commands" not in configuration
    # what only shares a part's name stays: the memory of a segment
    assert document(artifacts.program().encode(), "segments")["content"]["segments"][0]["memory"]


def test_a_listing_has_bytes_and_slots() -> None:
    found = listing(artifacts.program().encode())
    (program,) = found["programs"]
    assert program["core"] is None
    line = program["lines"][0]
    assert bytes.fromhex(line["raw"])
    assert any(slot["slot"] == "alu" and slot["text"].startswith("movxm") for slot in line["slots"])
