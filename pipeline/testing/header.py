"""Reads the test cases of an MLIR file.

A line `// aiepipe-test` or `// aiepipe-test: NAME`, at the beginning of a line, begins a block; each comment
line below it is a directive (`// input: 64x16xi32=1`) until an empty comment line, any other line, or the
next block. A file without any block may have iree-amd-aie's lines (`// input 64x16xi32`, `// output ...`;
build_tools/ci/cpu_comparison there), which make one case. Everything else is left to MLIR.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import UsageError
from .case import Case
from .directive import Draft, apply, is_type

MARKER = "aiepipe-test"
_MARKER = re.compile(r"//[ \t]*aiepipe-test\b(.*)")
_NAMED = re.compile(r"[ \t]*(?::[ \t]*([^\s\[\]]+(?: [^\s\[\]]+)*))?[ \t]*")
_DIRECTIVE = re.compile(r"([A-Za-z][A-Za-z_-]*)(?:[ \t]*:[ \t]*|[ \t]+|$)(.*)")
_FOREIGN = re.compile(r"[ \t]*//[ \t]+(input|output)[ \t]+(\S+)")
_FUNCTION = re.compile(
    r'[ \t]*func\.func[ \t]+(?:(public|private|nested)[ \t]+)?@("(?:[^"\\]|\\.)*"|[\w.$-]+)'
)


def has_marker(text: str) -> bool:
    """Whether the text asks to be taken for tests."""
    return MARKER in text and any(_MARKER.match(line) for line in text.splitlines())


def read_cases(file: str, text: str, *, foreign: bool = True) -> tuple[Case, ...]:
    """The cases of the file, in order; none where it has no test header.

    `foreign` takes iree-amd-aie's lines, too. Raises UsageError with file:line.
    """
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if _MARKER.match(line)] if MARKER in text else []
    functions = list(_functions(lines))
    if not starts:
        return _foreign(file, lines, functions) if foreign else ()
    cases: list[Case] = []
    inside: set[int] = set()
    for start in starts:
        case, end = _block(file, lines, start, functions)
        inside.update(range(start, end))
        cases.append(case)
    _refuse_strays(file, lines, inside)
    _refuse_namesakes(cases)
    return tuple(cases)


def _block(
    file: str, lines: Sequence[str], start: int, functions: Sequence[tuple[int, str]]
) -> tuple[Case, int]:
    """The case of the block at `start`, and the line after it."""
    match = _MARKER.match(lines[start])
    assert match is not None
    named = _NAMED.fullmatch(match.group(1))
    if named is None:
        raise _at(file, start, UsageError(f"write it as // {MARKER} or // {MARKER}: NAME"))
    draft = Draft(Path(file).parent)
    end = start + 1
    while end < len(lines) and lines[end].startswith("//") and not _MARKER.match(lines[end]):
        content = lines[end][2:].strip()
        if not content:
            break
        directive = _DIRECTIVE.fullmatch(content)
        if directive is None:
            raise _at(file, end, UsageError(f"not a directive: {content!r}", remedy=_END))
        try:
            apply(draft, directive.group(1), directive.group(2).strip())
        except UsageError as error:
            raise _at(file, end, error) from error
        end += 1
    if draft.function is None:
        draft.function = next((name for line, name in functions if line >= end), None)
    return _case(file, start, named.group(1) or "", draft), end


_END = "an empty comment line (//) ends the block"


def _case(file: str, line: int, name: str, draft: Draft) -> Case:
    if draft.errors and (draft.outputs or draft.fills or draft.fates or draft.hazards is not None):
        raise _at(file, line, UsageError("a case that expects an error has nothing else to expect"))
    if not draft.runs and (draft.inputs or draft.outputs or draft.hazards is not None or draft.repeat):
        raise _at(file, line, UsageError("a case that is not run has no input, output, hazards or repeat"))
    return Case(
        file=file,
        line=line + 1,
        function=draft.function,
        name=name,
        inputs=tuple(
            f"{text}=random({draft.seed + i})" if is_type(text) else text
            for i, text in enumerate(draft.inputs)
        ),
        outputs=tuple(draft.outputs),
        seed=draft.seed,
        tolerance=draft.tolerance,
        fills=draft.fills,
        fates=tuple(draft.fates),
        hazards=draft.hazards,
        errors=tuple(draft.errors),
        backends=draft.backends,
        target=draft.target,
        repeat=draft.repeat,
        policy=draft.policy,
        coherency_seed=draft.coherency_seed,
        flags=tuple(draft.flags),
        timeout_s=draft.timeout_s,
        xfail=draft.xfail,
        runs=draft.runs,
    )


def _foreign(file: str, lines: Sequence[str], functions: Sequence[tuple[int, str]]) -> tuple[Case, ...]:
    """iree-amd-aie's header: types only, inputs random, the first function below the first such line."""
    draft, first = Draft(Path(file).parent), None
    for line, name, value in _foreign_lines(lines):
        first = line if first is None else first
        apply(draft, name, value)
    if first is None:
        return ()
    draft.function = next((name for line, name in functions if line > first), None)
    return (_case(file, first, "", draft),)


def _foreign_lines(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(lines):
        match = _FOREIGN.match(line)
        if match is not None and is_type(match.group(2)):
            yield number, match.group(1), match.group(2)


def _refuse_strays(file: str, lines: Sequence[str], inside: set[int]) -> None:
    """`// input 8x8xi32` outside of every block would be overlooked."""
    for number, name, value in _foreign_lines(lines):
        if number not in inside:
            raise _at(
                file,
                number,
                UsageError(f"'{name} {value}' belongs to no block", remedy=f"move it under // {MARKER}"),
            )


def _refuse_namesakes(cases: Sequence[Case]) -> None:
    seen: dict[tuple[str | None, str], Case] = {}
    for case in cases:
        other = seen.setdefault((case.function, case.name), case)
        if other is not case:
            raise UsageError(
                f"a second case {case.name!r} of @{case.function}; the first is at line {other.line}"
                if case.name
                else f"a second case of @{case.function} without a name; the first is at line {other.line}",
                location=case.place,
                remedy=f"name them: // {MARKER}: NAME",
            )


def _functions(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Public functions by line, as the text shows them; MLIR itself is asked when the case runs."""
    for number, line in enumerate(lines):
        match = _FUNCTION.match(line)
        if match is not None and match.group(1) not in ("private", "nested"):
            yield number, match.group(2).strip('"')


def _at(file: str, line: int, error: UsageError) -> UsageError:
    return UsageError(error.message, location=f"{file}:{line + 1}", remedy=error.remedy)
