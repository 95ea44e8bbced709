"""Every command in the README and in docs/ is run; where the page shows output, it is compared.

A command that needs hardware, a network or another compiler has `*Not run by the tests: REASON.*` above its
block, which the reader sees, too.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.docs.console import Block, Command, blocks, commands, difference, run

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {ROOT / "docs" / "isa-coverage.md", *(ROOT / "docs" / "reference").glob("*.md")}
PAGES = sorted({ROOT / "README.md", *(ROOT / "docs").rglob("*.md")} - GENERATED)
LOOKS_LIKE_A_COMMAND = re.compile(r"\$ |(aiepipe|make|pip|pytest|python3?|dask|lit|iree-\w+|mkdocs) ")


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _session(page: Path, *, slow: bool) -> list[Block]:
    """The blocks that are run or written, in order."""
    return [
        block
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.title is not None
        or (block.language == "console" and block.reason_not_run is None and (slow or not block.slow))
    ]


def _with_commands(pages: list[Path], *, slow: bool) -> list[Path]:
    def wanted(block: Block) -> bool:
        return block.language == "console" and (block.slow or not slow)

    return [page for page in pages if any(wanted(block) for block in _session(page, slow=slow))]


def _check(page: Path, session: list[Block], folder: Path, environment: dict[str, str]) -> None:
    """Runs a page, and fails with each command that fails or says something else than the page."""
    todo: list[Command] = []
    for block in session:
        if block.title is not None:
            todo.append(_writing(block))
        else:
            todo += commands(block)
    faults: list[str] = []
    for command, ran in zip(todo, run([each.text for each in todo], folder, environment), strict=True):
        wrong = difference(command.expected, ran.output)
        if ran.code and not command.may_fail:
            wrong = f"exit code {ran.code}"
        if wrong is not None:
            faults.append(f"{_name(page)}:{command.line}: {command.text}\n  {wrong}\n{ran.output}")
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)


def _writing(block: Block) -> Command:
    """A block with a title is a file; this writes it."""
    assert block.title is not None
    name = shlex.quote(block.title)
    body = "\n".join(block.lines)
    text = f"mkdir -p \"$(dirname {name})\"\ncat > {name} <<'END-OF-BLOCK'\n{body}\nEND-OF-BLOCK"
    return Command(block.line, text, (), may_fail=False)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", _with_commands(PAGES, slow=False), ids=_name)
def test_commands_do_what_the_page_says(page: Path, folder: Path, environment: dict[str, str]) -> None:
    _check(page, _session(page, slow=False), folder, environment)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", _with_commands(PAGES, slow=True), ids=_name)
def test_slow_commands_do_what_the_page_says(page: Path, folder: Path, environment: dict[str, str]) -> None:
    _check(page, _session(page, slow=True), folder, environment)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_no_command_stands_where_it_is_not_run(page: Path) -> None:
    """Commands are in console blocks, each with a prompt, and a reason says why one is not run."""
    stray: list[str] = []
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "console":
            assert block.lines[0].startswith("$ "), f"{_name(page)}:{block.line} begins with no command"
        else:
            stray += [line for line in block.lines if LOOKS_LIKE_A_COMMAND.match(line.strip())]
    assert stray == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("$ echo right\nright", None),
        ("$ echo wrong\nright", "the page shows 'right', but 'wrong'"),
        ("$ false", "exit code 1"),
        ("$ false\n$ echo $?\n1", None),
        ("$ false\n$ echo $?\n2", "the page shows '2', but '1'"),
        ("$ aiepipe build-run nowhere.mlir", "exit code 2"),
    ],
)
def test_a_page_that_says_what_is_not_so_fails(
    text: str, told: str | None, folder: Path, environment: dict[str, str]
) -> None:
    page = ROOT / "docs" / "made-up.md"
    session = [Block(1, "console", None, "", tuple(text.splitlines()))]
    if told is None:
        _check(page, session, folder, environment)
        return
    with pytest.raises(pytest.fail.Exception, match=re.escape(told)):
        _check(page, session, folder, environment)
