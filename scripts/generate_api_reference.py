"""The pages reference/api/*.md of the docs site: what the public modules define, from their docstrings.

They are made while the site is built (a hook in mkdocs.yml), so they are never older than the code; nothing
is imported, the sources are parsed.

    python scripts/generate_api_reference.py        # prints all of them
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parent.parent

VERDICT = tuple(
    f"verdict.{part}" for part in ("command", "comparison", "inspection", "syncs", "array", "bisection")
)

PUBLIC: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (
        "flows",
        "Commands as functions",
        "Each takes a dataclass of options, and gives what the command's `--json` shows.",
        (
            "flows.build_run: BuildRunOptions build_run",
            "flows.build: BuildOptions build",
            "flows.run: RunOptions run",
            "flows.device: RunSettings",
            "flows.inspect: InspectOptions inspect",
            "flows.sync_matrix: SyncMatrixOptions sync_matrix",
            "flows.emulate: EmulateOptions EmulatedScript emulate",
            "flows.dump",
            "flows.disasm",
            "flows.test: TestOptions Test Collected collect run_tests",
            "flows.sweep",
            "flows.doctor: doctor",
        ),
    ),
    ("data", "What stages hand on", "Frozen dataclasses.", ("program", *VERDICT, "errors")),
    (
        "pyxrt",
        "The emulated pyxrt",
        "",
        (
            "xrt.hosting: Host emulated_pyxrt run_script",
            "xrt.emulation: Settings emulation configure",
            "xrt.policy",
        ),
    ),
    (
        "formats",
        "File formats",
        "`parse(bytes)` and `encode()`, inverse to each other.",
        (
            "formats.kinds",
            "formats.xclbin",
            "formats.partition",
            "formats.pdi",
            "formats.cdo",
            "formats.txn",
            "formats.lx6",
            "formats.elf",
            "formats.control_packet",
            "formats.vmfb",
        ),
    ),
    ("emulator", "The emulated array", "", ("emulator.machine",)),
    ("kernels", "Builders of MLIR", "", ("kernels.multiplication", "kernels.filling")),
    ("backends", "Backends of your own", "", ("backends.protocol",)),
    ("pytest", "pytest", "", ("pytest_plugin: Check aiepipe_check",)),
)
"""What we ask others to build on: a page's name, title and sentence; modules of `aiepipe`, some with the
names that count."""


_INNER = ("_", "pytest_")
"""How functions begin that nobody calls: private ones, and pytest's hooks."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A public function, class, method, field or constant: `code` is its signature."""

    name: str
    code: str
    text: str
    members: tuple[Entry, ...] = ()


def module_entries(source: str) -> tuple[str, tuple[Entry, ...]]:
    """The docstring of a module and its public names, in the order of the source."""
    tree = ast.parse(source)
    return ast.get_docstring(tree) or "", tuple(_entries(tree.body))


def _entries(body: list[ast.stmt]) -> Iterator[Entry]:
    for number, node in enumerate(body):
        following = body[number + 1] if number + 1 < len(body) else None
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if not name.startswith(_INNER):
                yield Entry(name, _function(node), ast.get_docstring(node) or "")
            case ast.ClassDef(name=name) if not name.startswith("_"):
                bases = ", ".join(ast.unparse(each) for each in node.bases)
                code = f"class {name}({bases})" if bases else f"class {name}"
                yield Entry(name, code, ast.get_docstring(node) or "", tuple(_entries(node.body)))
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                text = _docstring_below(following)
                if not name.startswith("_") and (text or isinstance(node, ast.AnnAssign)):
                    yield Entry(name, ast.unparse(node), text)
            case _:
                pass


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list):
        return f"{node.name}: {ast.unparse(node.returns)}" if node.returns else node.name
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({ast.unparse(node.args)}){returns}"


def _docstring_below(node: ast.stmt | None) -> str:
    """A text that stands by itself behind a field or constant says what that is."""
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return inspect.cleandoc(text)
        case _:
            return ""


def chosen(module: str) -> tuple[str, tuple[Entry, ...]]:
    """The docstring and the names of one of PUBLIC's modules; those that it lists, or all."""
    name, _, names = module.partition(": ")
    text, entries = module_entries(source_of(name).read_text(encoding="utf-8"))
    if not names:
        return text, entries
    by_name = {entry.name: entry for entry in entries}
    return text, tuple(by_name[each] for each in names.split())


def source_of(module: str) -> Path:
    """The file of `aiepipe.MODULE`."""
    top = ROOT if module.startswith("kernels.") else ROOT / "pipeline"
    return top / (module.replace(".", "/") + ".py")


def pages() -> dict[str, str]:
    """The pages by their path within docs/."""
    return {f"reference/api/{name}.md": _page(title, text, of) for name, title, text, of in PUBLIC}


def _page(title: str, sentence: str, modules: tuple[str, ...]) -> str:
    lines = [f"# {title}", ""]
    lines += [sentence, ""] if sentence else []
    for module in modules:
        text, entries = chosen(module)
        lines += [f"## aiepipe.{module.partition(':')[0]}", "", *_prose(text), ""]
        for entry in entries:
            lines += [*_shown(entry), ""]
    return "\n".join(lines) + "\n"


def _shown(entry: Entry) -> list[str]:
    lines = [f"### {entry.name}", "", "```python", entry.code, "```", "", *_prose(entry.text), ""]
    for member in entry.members:
        text = " ".join(member.text.split())
        lines.append(f"- `{member.code}`" + (f": {_escaped(text)}" if text else ""))
    return lines


def _prose(text: str) -> list[str]:
    """A docstring as Markdown; its indented parts are code there, too."""
    return [line if line.startswith("    ") else _escaped(line) for line in text.splitlines()]


def _escaped(text: str) -> str:
    """Outside of backticks, what Markdown would take for HTML, links or emphasis."""
    parts = text.split("`")
    for number in range(0, len(parts), 2):
        for sign in "<[*_":
            parts[number] = parts[number].replace(sign, "\\" + sign)
    return "`".join(parts)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """mkdocs' hook: the pages are files of the site, though they are not on disk."""
    from mkdocs.structure.files import File  # noqa: PLC0415  (a tool of the docs, not needed for the text)

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


if __name__ == "__main__":
    sys.stdout.write("".join(pages().values()))
