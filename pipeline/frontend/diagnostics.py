"""IREE's and MLIR's diagnostics: read, shown with the source line and a caret, turned into CompileError.

The compiler's callback gives one text per diagnostic, `file:line:column: message` with the call sites and
the operation in its generic form below; the parser gives objects. Source: iree-base-compiler 3.13, tried.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from ..errors import CompileError
from ..program import SourceLocation
from .location import PARSER_NAME

# Named ops that left MLIR (llvm-project#147961), with what replaces them.
REMOVED_OPS = {
    "linalg.matmul_transpose_a": "linalg.matmul",
    "linalg.matmul_transpose_b": "linalg.matmul",
    "linalg.batch_matmul_transpose_a": "linalg.batch_matmul",
    "linalg.batch_matmul_transpose_b": "linalg.batch_matmul",
}

_PLACE = re.compile(r"(?P<file>[^\n]*?):(?P<line>\d+):(?P<column>\d+): ")
_UNKNOWN_OP = re.compile(r"custom op '(?P<op>[^']+)' is unknown")
_ANY_OP = re.compile(r"'(?P<op>[a-z_][\w$]*(?:\.[\w$]+)+)' op ")
_UNREGISTERED = "unregistered dialect"
_QUOTED_OP = re.compile(r'"(?P<op>[^"]+)"\s*$')
# the operation in generic form, which repeats the source in a form that nobody wrote
_CURRENT_OP = re.compile(r"\n+(?:[^\n]*?:\d+:\d+: )?see current operation: .*", re.DOTALL)


class Severity(enum.Enum):
    """As in iree/compiler/embedding_api.h, in this order from 0."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"
    REMARK = "remark"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message of the compiler; `location` is None where it has no place in a file."""

    severity: Severity
    message: str
    location: SourceLocation | None

    def show(self, file: str, text: str) -> str:
        """`file:line:column: severity: message`, then the source line and a caret where we have it."""
        if self.location is None:
            return f"{self.severity.value}: {self.message}"
        first, *rest = self.message.split("\n")
        shown = [f"{self.location}: {self.severity.value}: {first}"]
        line = _line(text, self.location.line) if self.location.file == file else None
        if line is not None:
            pad = "".join("\t" if c == "\t" else " " for c in line[: max(self.location.column - 1, 0)])
            shown += [f"  {line}", f"  {pad}^"]
        return "\n".join([*shown, *(part for part in rest if part.strip())])


def _line(text: str, number: int) -> str | None:
    lines = text.split("\n")
    return lines[number - 1] if 0 < number <= len(lines) else None


def from_callback(severity: int, text: str, file: str) -> Diagnostic:
    """Reads one text of the compiler's diagnostics callback."""
    text = _CURRENT_OP.sub("", text)
    place = _PLACE.match(text)
    location = None
    if place is not None:
        name = file if place["file"] == PARSER_NAME else place["file"]
        location = SourceLocation(name, int(place["line"]), int(place["column"]))
        text = text[place.end() :]
    text = text.replace(f"\n{PARSER_NAME}:", f"\n{file}:")
    kind = tuple(Severity)[severity] if 0 <= severity < len(Severity) else Severity.ERROR
    return Diagnostic(kind, text.strip(), location)


def compile_error(diagnostics: list[Diagnostic], file: str, text: str) -> CompileError:
    """The error for a failed parse or compilation: its first error is the message, all are shown."""
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    shown = "\n".join(d.show(file, text) for d in diagnostics if d.severity is not Severity.REMARK)
    if not errors:
        return CompileError("IREE could not compile the module and did not say why", diagnostics=shown)
    first = errors[0]
    message = first.message.split("\n")[0]
    named = _UNKNOWN_OP.search(first.message) or _ANY_OP.search(first.message)
    op = None if named is None else named["op"]
    remedy = None
    if op in REMOVED_OPS:
        remedy = f"use {REMOVED_OPS[op]} with indexing_maps: the named op left MLIR"
    elif _UNREGISTERED in message:
        # the parser stops behind the op's name and does not say it
        op = _op_before(first.location, text)
        message = f"the op {op or ''} is of a dialect that IREE does not know".replace("  ", " ")
        remedy = "use ops of the dialects that IREE takes: linalg, tensor, arith, math, func, ..."
    return CompileError(message, location=first.location, remedy=remedy, op=op, diagnostics=shown)


def _op_before(location: SourceLocation | None, text: str) -> str | None:
    """The quoted op name that ends at a place in the text."""
    line = None if location is None else _line(text, location.line)
    if location is None or line is None:
        return None
    found = _QUOTED_OP.search(line[: location.column - 1])
    return None if found is None else found["op"]
