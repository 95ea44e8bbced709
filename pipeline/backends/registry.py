"""Backends by name, through the entry points of group `aiepipe.backends`: other packages may add theirs.

An entry point names a class. It is called without arguments, or, where it has `SETTINGS`, with the
`BackendSettings` that the user gave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from ..errors import UsageError
from .protocol import AnyBackend
from .settings import BackendRequest, BackendSettings, KnownSetting, resolve

GROUP = "aiepipe.backends"


def names() -> tuple[str, ...]:
    """The known backends, sorted."""
    return tuple(sorted(_installed()))


def load(name: str, request: BackendRequest | None = None) -> AnyBackend:
    """The backend of that name with what the user says about it.

    Raises UsageError where there is none, it cannot be imported, or it does not take an option.
    """
    make = _class_of(name)
    request = request or BackendRequest()
    known = cast("Sequence[KnownSetting] | None", getattr(make, "SETTINGS", None))
    if known is not None:
        configured = cast("Callable[[BackendSettings], AnyBackend]", make)
        return configured(resolve(name, known, request))
    if request.options or request.flags:
        raise UsageError(
            f"backend {name} takes no --backend-option and no --backend-flag",
            remedy="they are for external compilers: --backend iree-amd-aie, --backend mlir-aie",
        )
    return make()


def settings_of(name: str) -> tuple[KnownSetting, ...]:
    """The settings that a backend takes. Raises UsageError where there is no such backend."""
    return tuple(cast("Sequence[KnownSetting]", getattr(_class_of(name), "SETTINGS", ())))


def _class_of(name: str) -> Callable[[], AnyBackend]:
    found = _installed().get(name)
    if found is None:
        raise UsageError(
            f"there is no backend {name!r}", remedy=f"the known backends are: {', '.join(names()) or 'none'}"
        )
    try:
        return cast("Callable[[], AnyBackend]", found.load())
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"backend {name!r} ({found.value}) cannot be loaded: {error}",
            remedy="install what it needs, or choose another backend",
        ) from error


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
