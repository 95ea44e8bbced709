"""How artifacts look as text: golden files of small ones, and what a hostile name may not do."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest

from aiepipe.description import Dump
from aiepipe.report.dump import print_dump

from . import artifacts

Golden = Callable[[str, str], None]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def piped(dump: Dump) -> str:
    out = io.StringIO()
    print_dump(dump, out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("dump-container.txt", artifacts.container()),
        ("dump-stream.txt", artifacts.stream().encode()),
        ("dump-elf.txt", artifacts.program().encode()),
        ("dump-packets.txt", artifacts.packets()),
    ],
)
def test_small_artifacts_look_as_they_did(golden: Golden, name: str, data: bytes) -> None:
    golden(name, piped(artifacts.explained(data)))


def test_a_route_is_a_line_from_end_to_end() -> None:
    text = piped(artifacts.explained(artifacts.container(), "routes"))
    assert "shim (0,0) MM2S 0 -> memory tile (0,1) -> core (0,2) S2MM 0" in text


def test_sections_that_were_not_asked_for_are_left_out() -> None:
    text = piped(artifacts.explained(artifacts.container(), "locks"))
    assert text.splitlines()[2:] == ["  locks", "    core (0,2)  lock 0 = 1  0 in 1"]
    only = piped(artifacts.explained(artifacts.stream().encode(), "routes"))
    assert only.splitlines()[1:] == ["routes", "  none"]


def test_columns_are_aligned_and_lines_end_without_blanks() -> None:
    text = piped(artifacts.explained(artifacts.container()))
    assert all(line == line.rstrip() for line in text.splitlines())
    table = [line for line in text.splitlines() if "LOCK_VALUE" in line]
    assert len({line.index("LOCK_VALUE") for line in table}) == 1


def test_colour_is_for_terminals_only() -> None:
    dump = artifacts.explained(artifacts.stream().encode())
    assert "\x1b" not in piped(dump)
    terminal = Terminal()
    print_dump(dump, terminal)
    assert "\x1b[" in terminal.getvalue()


def test_names_in_an_artifact_cannot_steer_the_terminal() -> None:
    program = artifacts.program()
    bad = replace(program.symbols[0], name="\x1b]0;owned\x07\r\n\u202e")
    text = piped(artifacts.explained(replace(program, symbols=(bad,)).encode(), file="a\x1b[2Jb"))
    assert "\\x1b]0;owned\\n\\u202e" in text  # rich leaves out bell and carriage return by itself
    assert "a\\x1b[2Jb" in text
    assert all(line.isprintable() for line in text.splitlines())
