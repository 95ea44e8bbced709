"""Names that an artifact gives to things, of a length that can be repeated wherever the thing is shown."""

from __future__ import annotations

MOST_CHARACTERS = 1000
"""Compilers' names are shorter. One name may be shown thousands of times, which must not multiply a file."""


def shortened(name: str) -> str:
    """The name, cut with an ellipsis where it is longer than MOST_CHARACTERS."""
    return name if len(name) <= MOST_CHARACTERS else name[: MOST_CHARACTERS - 3] + "..."
