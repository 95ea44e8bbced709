"""`pyxrt.ext` and `pyxrt.aie`: buffers with an access mode, kernels of modules; what is for Versal only.

`ext.bo` is always host memory of bank 0. Buffers over a user's pointer or another process' handle need an
object that Python cannot make, so only their texts are there.
"""

from __future__ import annotations

from types import ModuleType
from typing import NoReturn, cast

from .buffers import bo, flags
from .control_code import ext_kernel
from .emulation import current
from .overloads import bound, choose
from .values import BoundEnum


@bound("ext.access_mode")
class access_mode(BoundEnum):  # noqa: N801 (pyxrt's name)
    """How a buffer is shared; numbers as xrt::ext::bo::access_mode. Has `|` and `&`."""

    none = 0
    read = 1
    write = 2
    read_write = 3
    local = 0  # the same number in XRT
    shared = 4
    process = 8
    hybrid = 16

    def __or__(self, other: access_mode) -> access_mode:
        return access_mode(int(self) | int(other))

    def __and__(self, other: access_mode) -> access_mode:
        return access_mode(int(self) & int(other))


ACCESS_NAMES = ("none", "read", "write", "read_write", "local", "shared", "process", "hybrid")


@bound("ext.bo")
class ext_bo(bo):  # noqa: N801
    """`ext.bo(device | context, size[, access])`."""

    def __init__(self, *arguments: object, **named: object) -> None:
        key, values = choose("ext.bo", current().settings.release, arguments, named)
        if key == "import":
            raise RuntimeError(
                "importing a buffer of another process is not emulated: Operation not supported"
            )
        self._open_root(values[0], cast("int", values[1]), flags.host_only, 0)


ext_bo.__name__ = ext_bo.__qualname__ = "bo"


class graph:  # noqa: N801
    """An AIE graph: Versal only."""

    def __init__(self, *arguments: object) -> None:
        del arguments
        _versal("graph")


class _GmioBo(bo):
    """`aie.bo`: a GMIO buffer, Versal only."""

    def __init__(self, *arguments: object) -> None:
        del arguments
        _versal("aie.bo")


_GmioBo.__name__ = _GmioBo.__qualname__ = "bo"


def _versal(what: str) -> NoReturn:
    raise RuntimeError(f"{what}: Operation not supported (Versal devices only)")


def _submodule(name: str, text: str, members: dict[str, object]) -> ModuleType:
    made = ModuleType(f"pyxrt.{name}", text)
    made.__dict__.update(members, __all__=list(members))
    return made


ext = _submodule(
    "ext",
    "Extended XRT functionality.",
    {
        "bo": ext_bo,
        "kernel": ext_kernel,
        "access_mode": access_mode,
        **{name: getattr(access_mode, name) for name in ACCESS_NAMES},
    },
)

aie = _submodule("aie", "AIE functionality (Versal).", {"bo": _GmioBo})
