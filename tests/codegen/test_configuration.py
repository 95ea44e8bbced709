"""Our configuration has the order and the words of real designs (facts/npu1-topology.md, cdo-words.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from aiepipe.codegen.configuration import configure
from aiepipe.codegen.lowering import lower, lower_scalar
from aiepipe.codegen.matching import match
from aiepipe.codegen.problem import Contraction
from aiepipe.codegen.routes import TOKENS, commands, from_core, to_core
from aiepipe.formats.cdo import Cdo, DmaWrite, MaskWrite, Write
from aiepipe.formats.cdo import parse as parse_cdo

from .dispatches import fill, matmul


def contraction(m: int, n: int, k: int) -> Contraction:
    found = match(matmul(m, n, k))
    assert isinstance(found, Contraction)
    return found


CONTROL = 0x0023_2000  # core (0,2)


def words(cdo: Cdo) -> list[tuple[int, ...]]:
    """(address, value) or (address, mask, value) of each register write."""
    return [
        (c.address, c.value) if isinstance(c, Write) else (c.address, c.mask, c.value)
        for c in cdo.commands
        if isinstance(c, Write | MaskWrite)
    ]


def test_the_core_is_stopped_while_it_is_loaded_and_enabled_last() -> None:
    configuration = configure(lower(match(matmul(8, 8, 8))).design)
    assert words(configuration.elfs)[0] == (CONTROL, 1, 0)
    assert words(configuration.init)[:2] == [(CONTROL, 2, 2), (CONTROL, 2, 0)]
    assert words(configuration.enable) == [(CONTROL, 1, 1)]


def test_the_parts_are_files_of_their_own() -> None:
    for cdo in configure(lower(match(fill(1, 8))).design).files.values():
        assert parse_cdo(cdo.encode()) == cdo


def test_descriptors_and_queues_follow_the_locks_and_come_before_the_switches() -> None:
    commands_ = configure(lower_scalar(contraction(8, 8, 8)).design).init.commands
    offsets = [command.address & 0xFFFFF for command in commands_ if isinstance(command, Write | DmaWrite)]
    places = [
        0 if 0x1F000 <= o < 0x1F100 else 1 if 0x1D000 <= o < 0x1D200 else 2 if 0x1DE00 <= o < 0x1DE20 else 3
        for o in offsets
    ]
    assert places == sorted(places)


def test_routes_use_the_words_of_a_real_design(corpus: Path) -> None:
    """What both have is the same word: MM2S 0 to North 0, North 0 to S2MM 0, tokens, mux and demux."""
    golden = cast(
        "dict[str, dict[str, dict[str, list[list[str]]]]]",
        json.loads((corpus / "golden" / "cdo-words.json").read_text()),
    )
    real = {
        int(row[1], 16): tuple(int(word, 16) for word in row[2:])
        for row in golden["designs"]["matmul_i32_8x32x16"]["init"]
        if row[0] in ("WRITE64", "MASK_WRITE64")
    }
    ours = Cdo(tuple(commands((*to_core(0), *to_core(1), *from_core(0), *TOKENS))))
    found = {address: tuple(rest) for address, *rest in words(ours)}
    tokens = {0x3F008: (0x80000000,), 0x3F100: (0x80000000,)}
    dma = {0x3F030: (0x80000005,), 0x3F114: (0x80000000,), 0x1F004: (0x30, 0x10)}
    for address, value in {**tokens, **dma}.items():
        assert found[address] == real[address] == value
    assert [row for row in words(ours) if row[0] == 0x1F000] == [
        (0x1F000, 0xC00, 0x400),
        (0x1F000, 0xC000, 0x4000),
    ]
