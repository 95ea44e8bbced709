"""The generated pages, and commands in running text, are what the program is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import typer

from aiepipe.cli.application import app
from tests.docs.console import blocks
from tests.docs.scripts import script

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
INLINE = re.compile(r"`(aiepipe [a-z][^`]*)`")


def test_the_page_of_the_command_line_is_up_to_date() -> None:
    """`python scripts/generate_cli_reference.py` writes it."""
    made: str = script("generate_cli_reference").page()
    assert made == (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")


def options_by_command() -> dict[str, set[str]]:
    words = re.compile(r"`(-[\w-]+)`")
    return {
        command.words: {name for p in command.parameters for name in words.findall(p.name)} | {"--help", "-h"}
        for command in script("generate_cli_reference").command_texts()
    }


def test_the_page_has_every_option_that_help_has() -> None:
    """Help is made by typer, the page by us: they must have the same commands and options."""
    shown = options_by_command()
    group: Any = typer.main.get_command(app)  # typer's click may be its own
    commands = {name: command for name, command in group.commands.items() if name != "emit"}
    commands |= {f"emit {name}": command for name, command in group.commands["emit"].commands.items()}
    assert {
        name: {option for p in command.params for option in p.opts if option.startswith("-")}
        | {"--help", "-h"}
        for name, command in commands.items()
    } == shown


def test_commands_in_running_text_exist_with_their_options() -> None:
    known = options_by_command()
    unknown: list[str] = []
    for page in PAGES:
        for found in INLINE.finditer(page.read_text(encoding="utf-8")):
            words = shlex.split(found[1], posix=False)[1:]
            name = next((n for n in (" ".join(words[:2]), words[0]) if n in known or n == "emit"), None)
            options = {w.split("=")[0] for w in words if re.fullmatch(r"--?[a-zA-Z][\w-]*(=.*)?", w)}
            if name is None or (name in known and words[0] != "emulate" and options - known[name]):
                unknown.append(f"{page.relative_to(ROOT)}: {found[0]}")
    assert unknown == []


def test_steps_of_the_workflow_are_commands_of_the_page() -> None:
    """What a YAML file runs is not run by the test of the page's commands: the page must have it again."""
    page = (ROOT / "docs" / "howto" / "guard-a-compiler-in-ci.md").read_text(encoding="utf-8")
    [workflow] = [block for block in blocks(page) if block.language == "yaml"]
    steps = [line.split("run: ", 1)[1] for line in workflow.lines if "run: " in line]
    assert len(steps) == 5
    assert [step for step in steps if f"\n$ {step}\n" not in page] == []


def test_every_public_name_of_the_api_pages_says_what_it_is() -> None:
    generator = script("generate_api_reference")
    silent: list[str] = []
    for _, _, _, modules in generator.PUBLIC:
        for module in modules:
            text, entries = generator.chosen(module)
            assert text, module
            silent += [f"{module}.{entry.name}" for entry in entries if not entry.text]
    assert silent == []


def test_a_module_gives_its_public_names_signatures_and_texts() -> None:
    source = '''"""What it is."""
LIMIT = 3
"""Says what it limits."""
_HIDDEN = 4

def double(x: int, *, times: int = 2) -> int:
    """Twice."""

class Point(Base):
    """A place."""

    x: int = 0
    """Across."""

    @property
    def far(self) -> bool:
        """Whether it is."""

    def _inner(self) -> None: ...
'''
    generator = script("generate_api_reference")
    text, (limit, double, point) = generator.module_entries(source)
    assert text == "What it is."
    assert (limit.code, limit.text) == ("LIMIT = 3", "Says what it limits.")
    assert double.code == "double(x: int, *, times: int=2) -> int"
    assert (point.code, point.text) == ("class Point(Base)", "A place.")
    assert [(m.code, m.text) for m in point.members] == [
        ("x: int = 0", "Across."),
        ("far: bool", "Whether it is."),
    ]


def test_a_site_that_loads_from_elsewhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        '<link href="https://fonts.example/a.css"><script src="//cdn.example/b.js"></script>'
        '<img src="here.png"><a href="https://example.org">a link is no load</a>'
    )
    (tmp_path / "style.css").write_text("@import 'https://fonts.example/c.css'; a { background: url(x.png) }")
    assert script("check_site").loads_from_elsewhere(tmp_path) == [
        "index.html: <link> https://fonts.example/a.css",
        "index.html: <script> //cdn.example/b.js",
        "style.css: @import 'https://fonts.example/c.css",
    ]
