"""A bound on nesting, checked before a text reaches MLIR's recursive-descent parser.

The parser, the printer and several passes recurse once per bracket; on a stack of 8 MiB they die between
2,000 and 5,000 levels (iree-base-compiler 3.13, tried with modules, tuple types, arrays and affine maps).
"""

from __future__ import annotations

import re

from ..errors import CompileError
from ..program import SourceLocation

DEEPEST = 256

# strings and comments are skipped; ->, >= and <= are no brackets
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|>=|<=|[(\[{<)\]}>]')
_OPEN = frozenset("([{<")
_CLOSE = frozenset(")]}>")


def check_nesting(file: str, text: str) -> None:
    """Raises CompileError at the first bracket deeper than DEEPEST."""
    depth = 0
    for token in _TOKEN.finditer(text):
        bracket = token.group()
        if bracket in _OPEN:
            depth += 1
            if depth > DEEPEST:
                before = text[: token.start()]
                line = before.count("\n") + 1
                column = token.start() - (before.rfind("\n") + 1) + 1
                raise CompileError(
                    f"brackets are nested deeper than {DEEPEST} levels",
                    location=SourceLocation(file, line, column),
                    remedy="flatten the module: MLIR's own parser overflows its stack on such input",
                )
        elif bracket in _CLOSE and depth > 0:
            depth -= 1
