"""Names that are long, or shared by much, do not multiply a file."""

from __future__ import annotations

import pytest

from aiepipe.errors import ArtifactError
from aiepipe.explain.container import MOST_RUNS, explain_module
from aiepipe.explain.names import MOST_CHARACTERS, shortened
from aiepipe.explain.program import explain_elf
from aiepipe.formats import pdi, vmfb
from aiepipe.formats.cdo import Cdo, Write
from aiepipe.formats.elf import CoreElf, Symbol
from aiepipe.formats.txn import Noop, Transaction
from aiepipe.formats.vmfb import ContainerKind, EmbeddedKernel

IMAGE = pdi.from_files([Cdo((Write(0x21F000, 1),)).for_file()]).encode()
STREAM = Transaction((Noop(),)).encode()


def test_names_are_cut() -> None:
    assert shortened("memset") == "memset"
    long = shortened("x" * 100_000)
    assert len(long) == MOST_CHARACTERS
    assert long.endswith("...")


def test_symbols_share_no_endless_section_name() -> None:
    section = "s" * 100_000
    found = explain_elf(CoreElf((), tuple(Symbol(f"f{i}", i, section=section) for i in range(9))), 0)
    assert max(len(symbol.section) for symbol in found.symbols) == MOST_CHARACTERS


def kernels(count: int, runs: int) -> tuple[EmbeddedKernel, ...]:
    streams = (STREAM,) * runs
    return tuple(EmbeddedKernel(f"entry {i}", ContainerKind.PDI, IMAGE, streams) for i in range(count))


def parsing(monkeypatch: pytest.MonkeyPatch, found: tuple[EmbeddedKernel, ...]) -> None:
    def parse(data: bytes) -> tuple[EmbeddedKernel, ...]:
        del data
        return found

    monkeypatch.setattr(vmfb, "parse", parse)


def test_what_entry_points_share_is_explained_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsing(monkeypatch, kernels(500, 3))
    found = explain_module(IMAGE)
    assert (len(found.entries), len(found.containers), len(found.streams)) == (500, 1, 1)
    assert found.entries[499].streams == (0, 0, 0)


def test_more_runs_than_anybody_reads_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    parsing(monkeypatch, kernels(101, MOST_RUNS // 100))
    with pytest.raises(ArtifactError, match="runs in the entry points"):
        explain_module(IMAGE)
