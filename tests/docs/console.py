"""The console blocks of a page, run as a reader would run them. docs/howto/docs.md says how they are written.

A page is one session of bash in one folder, from top to bottom: what a command leaves is there for the next.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

NOT_RUN = re.compile(r"\*Not run by the tests: (?P<reason>.+)\*")
SLOW = "<!-- slow -->"
_FENCE = re.compile(r"(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w-]*) *(?P<attributes>.*)")
_TITLE = re.compile(r'title="(?P<name>[^"]+)"')
_INDENTED = re.compile(r"(?: {4}|\t)\S")
_MARK = "\x1e"
"""Stands after each command's output, with its exit code."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code: the number of its first line, its language, and the line of text above it."""

    line: int
    language: str
    title: str | None
    above: str
    lines: tuple[str, ...]

    @property
    def reason_not_run(self) -> str | None:
        found = NOT_RUN.fullmatch(self.above)
        return None if found is None else found["reason"]

    @property
    def slow(self) -> bool:
        return self.above == SLOW


@dataclass(frozen=True, slots=True)
class Command:
    """A command with the output that the page shows; `may_fail` where the page then asks for `$?`."""

    line: int
    text: str
    expected: tuple[str, ...]
    may_fail: bool


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed, on both streams, and its exit code."""

    output: str
    code: int


def blocks(page: str) -> list[Block]:
    """All blocks of code of a page, fenced or indented, in order."""
    found: list[Block] = []
    lines = page.splitlines()
    above = ""
    number = 0
    while number < len(lines):
        line = lines[number]
        fence = _FENCE.fullmatch(line)
        if fence is not None:
            indent, ticks = fence["indent"], fence["ticks"]
            end = number + 1
            while lines[end].strip() != ticks:
                end += 1
            title = _TITLE.search(fence["attributes"])
            body = tuple(each.removeprefix(indent) for each in lines[number + 1 : end])
            name = None if title is None else title["name"]
            found.append(Block(number + 2, fence["language"], name, above, body))
            above, number = "", end + 1
        elif _INDENTED.match(line) and (number == 0 or not lines[number - 1].strip()):
            end = number
            while end < len(lines) and (_INDENTED.match(lines[end]) or not lines[end].strip()):
                end += 1
            body = tuple(each.removeprefix("    ") for each in lines[number:end])
            found.append(Block(number + 1, "", None, above, body))
            above, number = "", end
        else:
            above = line.strip() or above
            number += 1
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a console block. One goes on in the next line after a backslash."""
    starts = [i for i, line in enumerate(block.lines) if line.startswith("$ ")]
    found: list[Command] = []
    for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        last = start
        while block.lines[last].endswith("\\"):
            last += 1
        text = "\n".join(block.lines[start : last + 1]).removeprefix("$ ")
        asks = end < len(block.lines) and block.lines[end] == "$ echo $?"
        found.append(Command(block.line + start, text, block.lines[last + 1 : end], asks))
    return found


def run(texts: list[str], folder: Path, environment: dict[str, str]) -> list[Ran]:
    """Runs commands in one shell, one after the other, whatever their exit codes."""
    script = ["exec 2>&1 </dev/null"]
    for text in texts:
        script += [
            f"eval {shlex.quote(text)}",
            "status=$?",
            f"printf '{_MARK}%d{_MARK}' $status",
            "(exit $status)",
        ]
    shell = subprocess.Popen(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        printed, _ = shell.communicate()
    finally:  # nothing that a page begins outlives it, also when the test is given up
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    parts = printed.decode(errors="replace").split(_MARK)
    return [Ran(output, int(code)) for output, code in zip(parts[0:-1:2], parts[1::2], strict=True)]


def difference(expected: tuple[str, ...], output: str) -> str | None:
    """Where the output is not what the page shows; None where it is, or where the page shows nothing.

    `...` stands for any text within a line; on a line of its own, for any lines.
    """
    shown = [line.rstrip() for line in "\n".join(expected).strip("\n").splitlines()]
    if not shown:
        return None
    real = [line.rstrip() for line in output.strip("\n").splitlines()]
    return _compare(shown, real)


def _compare(shown: list[str], real: list[str]) -> str | None:
    at, anywhere = 0, False
    for line in shown:
        if line.strip() == "...":
            anywhere = True
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.split("...")))
        end = len(real) if anywhere else at + 1
        hit = next((i for i in range(at, min(end, len(real))) if pattern.fullmatch(real[i])), None)
        if hit is None:
            where = (
                "anywhere below" if anywhere else "but " + (repr(real[at]) if at < len(real) else "nothing")
            )
            return f"the page shows {line!r}, {where}"
        at, anywhere = hit + 1, False
    if not anywhere and at < len(real):
        return f"the page ends, the output goes on with {real[at]!r}"
    return None
