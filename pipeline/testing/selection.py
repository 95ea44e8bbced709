"""Which cases are wanted: an expression over parts of their names, as in pytest's -k.

-k matmul                  names that have it, in either case
-k "matmul and not i8"     and, or, not, parentheses
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..errors import UsageError

Matcher = Callable[[str], bool]
_TOKEN = re.compile(r"\s*([()]|[^\s()]+)")
_DEEPEST = 50


def parse_selection(text: str) -> Matcher:
    """A function that says whether a name is wanted. Raises UsageError."""
    tokens = [match.group(1) for match in _TOKEN.finditer(text)]
    reader = _Reader(text, tokens)
    found = reader.either(0)
    if reader.peek() is not None:
        raise reader.wrong()
    return found


class _Reader:
    """Recursive descent: either := both ("or" both)*, both := one ("and" one)*, one := "not" one | ..."""

    def __init__(self, text: str, tokens: list[str]) -> None:
        self._text, self._tokens, self._at = text, tokens, 0

    def peek(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def wrong(self) -> UsageError:
        found = self.peek()
        met = "it ends too early" if found is None else f"{found!r} is not expected there"
        return UsageError(f"cannot read -k {self._text!r}: {met}", remedy="names with and, or, not, ( )")

    def either(self, depth: int) -> Matcher:
        terms = [self._both(depth)]
        while self.peek() == "or":
            self._at += 1
            terms.append(self._both(depth))
        return lambda name: any(term(name) for term in terms)

    def _both(self, depth: int) -> Matcher:
        terms = [self._one(depth)]
        while self.peek() == "and":
            self._at += 1
            terms.append(self._one(depth))
        return lambda name: all(term(name) for term in terms)

    def _one(self, depth: int) -> Matcher:
        token = self.peek()
        if token is None or token in ("and", "or", ")") or depth > _DEEPEST:
            raise self.wrong()
        self._at += 1
        if token == "not":  # noqa: S105
            inner = self._one(depth + 1)
            return lambda name: not inner(name)
        if token == "(":  # noqa: S105
            inner = self.either(depth + 1)
            if self.peek() != ")":
                raise self.wrong()
            self._at += 1
            return inner
        wanted = token.casefold()
        return lambda name: wanted in name.casefold()
