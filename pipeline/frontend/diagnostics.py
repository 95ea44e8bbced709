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
        shown = f"{self.location}: {self.severity.value}: {self.message}"
        lines = text.split("\n")
        if self.location.file != file or not 0 < self.location.line <= len(lines):
            return shown
        line = lines[self.location.line - 1]
        pad = "".join("\t" if c == "\t" else " " for c in line[: max(self.location.column - 1, 0)])
        return f"{shown}\n  {line}\n  {pad}^"


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
    named = _UNKNOWN_OP.search(first.message) or _ANY_OP.search(first.message)
    op = None if named is None else named["op"]
    remedy = None
    if op in REMOVED_OPS:
        remedy = f"use {REMOVED_OPS[op]} with indexing_maps: the named op left MLIR"
    return CompileError(
        first.message.split("\n")[0], location=first.location, remedy=remedy, op=op, diagnostics=shown
    )
