"""The flow behind `aiepipe dump`: names, sections, kinds, standard input."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from aiepipe.errors import ArtifactError, UsageError
from aiepipe.flows.dump import DumpOptions, dump
from aiepipe.formats.cdo import Cdo, Write
from aiepipe.formats.control_packet import ControlPacket, PacketOperation, encode

DATA = Cdo((Write(0x21F000, 1),)).encode()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "misnamed.elf"
    found.write_bytes(DATA)
    return found


def test_a_file_is_known_by_its_content(file: Path) -> None:
    found = dump(DumpOptions(str(file)))
    assert (found.kind, found.size_bytes, found.file) == ("cdo", len(DATA), str(file))
    assert len(found.sha256) == 64


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DATA)))
    assert dump(DumpOptions("-")).file == "<stdin>"


def test_unknown_sections_and_kinds_are_usage_errors(file: Path) -> None:
    with pytest.raises(UsageError, match="no section is called 'bd'"):
        dump(DumpOptions(str(file), ("bd",)))
    with pytest.raises(UsageError, match="no artifact is called 'bin'"):
        dump(DumpOptions(str(file), kind="bin"))
    with pytest.raises(UsageError, match="has no symbols") as caught:
        dump(DumpOptions(str(file), ("locks", "symbols")))
    assert "routes, bds, locks" in (caught.value.remedy or "")


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    for name in ("none", ""):
        with pytest.raises(UsageError):
            dump(DumpOptions(str(tmp_path / name)))


def test_errors_name_the_file(tmp_path: Path) -> None:
    bad = tmp_path / "bad.bin"
    bad.write_bytes(DATA[:-4])
    with pytest.raises(ArtifactError) as caught:
        dump(DumpOptions(str(bad)))
    assert (caught.value.path, caught.value.offset) == (str(bad), 12)


def test_a_file_may_be_taken_for_what_it_does_not_say(tmp_path: Path) -> None:
    packets = tmp_path / "packets.bin"
    packets.write_bytes(encode([ControlPacket(0x400, PacketOperation.WRITE, data=(1,))]))
    with pytest.raises(ArtifactError, match="no artifact that is understood"):
        dump(DumpOptions(str(packets)))
    assert dump(DumpOptions(str(packets), kind="control-packets")).content.kind == "control packets"
    with pytest.raises(ArtifactError):
        dump(DumpOptions(str(packets), kind="pdi"))
