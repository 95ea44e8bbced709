"""Whatever is written to the registers: a typed error or a run that ends, never a crash or a hang."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aiepipe.emulator.machine import Machine
from aiepipe.emulator.trace import Trace
from aiepipe.errors import AiepipeError
from aiepipe.formats import pdi, txn
from aiepipe.formats.cdo import Cdo, Command, DmaWrite, MaskWrite, Write
from aiepipe.formats.instructions import parse_instructions
from aiepipe.isa.assembler import BundleStatement, Label, assemble
from aiepipe.npu.descriptors import descriptor_offset, descriptor_words
from aiepipe.npu.limits import LIMITS
from aiepipe.npu.registers import register
from aiepipe.npu.topology import MASTERS, SLAVES, TileAddress, TileKind
from aiepipe.timeline import Timeline

from .designs import Ddr

STEPS = 20_000
COLUMNS = 2

word = st.one_of(
    st.integers(0, 0xFFFFFFFF),
    st.sampled_from([0, 1, 0x80000000, 0xC0000000, 0xFFFFFFFF, 1 << 25, 1 << 26, 1 << 31 | 1]),
)


def offsets(kind: TileKind) -> st.SearchStrategy[int]:
    """Registers that do something, and others."""
    limits = LIMITS[kind]
    rows = {
        "LOCK_VALUE": limits.locks, "DMA_S2MM_CTRL": limits.channels, "DMA_S2MM_START_QUEUE": limits.channels,
        "DMA_MM2S_START_QUEUE": limits.channels, "STREAM_SWITCH_MASTER": len(MASTERS[kind]),
        "STREAM_SWITCH_SLAVE": len(SLAVES[kind]), "STREAM_SWITCH_SLOT": 4 * len(SLAVES[kind]),
    }  # fmt: skip
    known = [register(kind, name).at(index) for name, count in rows.items() for index in range(count)]
    known += [
        descriptor_offset(kind, number) + 4 * at
        for number in range(limits.descriptors)
        for at in range(descriptor_words(kind))
    ]
    if kind is TileKind.COMPUTE:
        known += [0x32000, 0x36060, 0x3F800, 0x3F808]
    if kind is TileKind.SHIM:
        known += [0x1F000, 0x1F004]
    return st.one_of(st.sampled_from(known), st.integers(0, 0x3FFFF).map(lambda at: 4 * at))


@st.composite
def writes(draw: st.DrawFn) -> tuple[int, int]:
    """An address and a value, mostly with an effect."""
    tile = TileAddress(draw(st.integers(0, COLUMNS - 1)), draw(st.integers(0, 5)))
    value = draw(word)
    offset = draw(offsets(tile.kind))
    return tile.address(offset), value


@st.composite
def commands(draw: st.DrawFn) -> Command:
    address, value = draw(writes())
    match draw(st.integers(0, 5)):
        case 0:
            return MaskWrite(address, draw(word), value)
        case 1:
            return DmaWrite(address, draw(st.binary(max_size=64)).ljust(64, b"\0"))
        case _:
            return Write(address, value)


@st.composite
def operations(draw: st.DrawFn) -> txn.Operation:
    address, value = draw(writes())
    match draw(st.integers(0, 9)):
        case 0:
            return txn.MaskWrite32(address, value, draw(word))
        case 1:
            return txn.Sync(draw(st.integers(0, 3)), draw(st.integers(0, 6)), draw(st.integers(0, 2)), 0)
        case 2:
            return txn.DdrPatch(address, draw(st.integers(0, 3)), value)
        case 3:
            return txn.MaskPoll(address, value, draw(word))
        case 4:
            return txn.BlockWrite(address, tuple(draw(st.lists(word, max_size=9))))
        case _:
            return txn.Write32(address, value)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(commands(), max_size=60), st.lists(operations(), max_size=30), st.booleans())
def test_random_writes_end_in_an_error_of_ours_or_in_a_bounded_run(
    configuration: list[Command], stream: list[txn.Operation], watched: bool
) -> None:
    ddr = Ddr()
    arguments = [ddr.add(np.arange(4096, dtype=np.uint32)) for _ in range(2)]
    trace = Trace(Timeline(limit=1000), instructions=True) if watched else None
    machine = Machine(COLUMNS, ddr, engine="plain", check=watched, trace=trace)
    with contextlib.suppress(AiepipeError):
        machine.load(Cdo(tuple(configuration)))
        machine.run(txn.Transaction(tuple(stream)), arguments, step_limit=STEPS)


@pytest.mark.parametrize("seed", range(8))
def test_a_real_program_with_some_words_changed(corpus: Path, seed: int) -> None:
    """The seed's configuration, a few register values replaced or bits flipped."""
    generator = np.random.default_rng(seed)
    folder = corpus / "iree-seed-matmul-i32"
    found = list(pdi.parse((folder / "design.pdi").read_bytes()).cdo.commands)
    places = [at for at, command in enumerate(found) if isinstance(command, Write | MaskWrite)]
    for _ in range(4):
        at = places[int(generator.integers(len(places)))]
        command = found[at]
        if isinstance(command, Write):
            found[at] = Write(command.address, command.value ^ 1 << int(generator.integers(32)))
        elif isinstance(command, MaskWrite):
            found[at] = MaskWrite(command.address, command.mask, int(generator.integers(1 << 32)))
    ddr = Ddr()
    arguments = [ddr.add(np.ones(4096, np.int32)) for _ in range(3)]
    watched = seed % 2 == 1
    machine = Machine(1, ddr, check=watched, trace=Trace(Timeline(limit=1000)) if watched else None)
    with contextlib.suppress(AiepipeError):
        machine.load(Cdo(tuple(found)))
        machine.run(parse_instructions((folder / "insts.txt").read_bytes()), arguments, step_limit=5_000_000)


def test_a_step_limit_holds_to_the_bundle() -> None:
    """A slow engine would otherwise run a whole slice past it."""
    program = assemble([Label("again"), BundleStatement(["j #again"]), *[BundleStatement(())] * 5])
    machine = Machine(1, Ddr(), engine="plain")
    machine.load(Cdo((DmaWrite(0x220000, program.code), MaskWrite(0x232000, 1, 1))))
    wait = txn.Transaction((txn.MaskPoll(0x232004, 1 << 20, 1 << 20),))
    before = sum(core.bundles for core in machine.array.cores)
    with pytest.raises(AiepipeError):
        machine.run(wait, [], step_limit=100)
    assert sum(core.bundles for core in machine.array.cores) - before <= 101
