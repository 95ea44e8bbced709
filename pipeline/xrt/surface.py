"""The module `pyxrt` of one XRT release, made of the emulated classes: what the release lacks is not there.

Classes with a member that the release lacks are derived, the member raising AttributeError, so that
`hasattr(pyxrt.run, "wait2")` answers as in that release.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import NoReturn, cast

from . import emulated, extension
from .releases import ENUM_IN_BUFFER, LATEST, SPANS, check_release, has

_OURS = frozenset({"Emulation", "Settings", "configure", "current", "emulation", "reseed"})
"""Names of the module `emulated` that pyxrt does not have."""


@functools.cache
def pyxrt_module(release: str = LATEST) -> ModuleType:
    """The module of that release; the same object each time. Raises UsageError for an unknown one."""
    check_release(release)
    module = ModuleType("pyxrt", "XRT's Python binding, emulated by aiepipe")
    for name in emulated.__all__:
        if name not in _OURS and has(release, name):
            setattr(module, name, _member(getattr(emulated, name), name, release))
    _tie(module)
    return module


class _Absent:
    """A member that the release does not have."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        of = f"type object '{owner.__name__}'" if instance is None else f"'{owner.__name__}' object"
        raise AttributeError(f"{of} has no attribute '{self._name}'")


def _member(value: object, path: str, release: str) -> object:
    if isinstance(value, ModuleType):
        made = ModuleType(f"pyxrt.{path}", value.__doc__)
        for name in cast("list[str]", getattr(value, "__all__")):  # noqa: B009 (untyped module)
            if has(release, f"{path}.{name}"):
                setattr(made, name, _member(getattr(value, name), f"{path}.{name}", release))
        return made
    if not isinstance(value, type):
        return value
    if path == "ext.bo" and ENUM_IN_BUFFER.has(release):
        names = {name: getattr(extension.access_mode, name) for name in extension.ACCESS_NAMES}
        return _derive(value, {**names, "access_mode": extension.access_mode})
    depth = path.count(".") + 1
    lacking = [
        name.rpartition(".")[2]
        for name in SPANS
        if name.startswith(path + ".") and name.count(".") == depth and not has(release, name)
    ]
    return _derive(value, {name: _Absent() for name in lacking}) if lacking else value


def _derive(base: type, members: dict[str, object]) -> type:
    return type(base.__name__, (base,), {"__doc__": base.__doc__, **members})


def _tie(module: ModuleType) -> None:
    """A kernel gives runs of this module's class."""
    run = getattr(module, "run")  # noqa: B009 (made above)
    if run is emulated.run:
        return
    for owner in (module, getattr(module, "ext", None)):
        if owner is not None:
            kernel = cast("type", getattr(owner, "kernel"))  # noqa: B009
            setattr(owner, "kernel", _derive(kernel, {"run_class": run}))  # noqa: B010
