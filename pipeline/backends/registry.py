"""Backends by name, through the entry points of group `aiepipe.backends`: other packages may add theirs."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import cast

from ..errors import UsageError
from .protocol import Backend

GROUP = "aiepipe.backends"


def names() -> tuple[str, ...]:
    """The known backends, sorted."""
    return tuple(sorted(_installed()))


def load(name: str) -> Backend:
    """The backend of that name. Raises UsageError where there is none or it cannot be imported."""
    found = _installed().get(name)
    if found is None:
        raise UsageError(
            f"there is no backend {name!r}", remedy=f"the known backends are: {', '.join(names()) or 'none'}"
        )
    try:
        make = found.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"backend {name!r} ({found.value}) cannot be loaded: {error}",
            remedy="install what it needs, or choose another backend",
        ) from error
    return cast("Backend", make())


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
