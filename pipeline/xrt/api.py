"""The part of pyxrt that the runner uses, as types: the real module and the emulated one both fit.

pyxrt has no stubs; `DeviceModule` is what we rely on, no more, so that a release without the rest still
works (docs/syncs.md). Calls that take another of the module's own objects are `Callable[..., X]`: each
module takes only its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, cast


class Named(Protocol):
    """A member of an enum."""

    @property
    def name(self) -> str: ...


class UniqueId(Protocol):
    def to_string(self) -> str: ...


class DeclaredKernel(Protocol):
    def get_name(self) -> str: ...

    def get_num_args(self) -> int: ...


class Binary(Protocol):
    def get_uuid(self) -> UniqueId: ...

    def get_kernels(self) -> Sequence[DeclaredKernel]: ...


class OpenDevice(Protocol):
    @property
    def register_xclbin(self) -> Callable[..., UniqueId]: ...


class HardwareContext(Protocol):
    """Opaque."""


class KernelHandle(Protocol):
    def group_id(self, index: int, /) -> int: ...


class BufferObject(Protocol):
    def write(self, data: object, seek: int, /) -> None: ...

    def map(self) -> memoryview: ...

    @property
    def sync(self) -> Callable[..., None]: ...

    def size(self) -> int: ...


class RunHandle(Protocol):
    def set_arg(self, index: int, value: object, /) -> None: ...

    def start(self) -> None: ...

    def wait(self, timeout_ms: int, /) -> Named: ...

    def state(self) -> Named: ...


class DeviceModule(Protocol):
    """`import pyxrt`."""

    @property
    def device(self) -> Callable[[int], OpenDevice]: ...

    @property
    def xclbin(self) -> Callable[[str], Binary]: ...

    @property
    def hw_context(self) -> Callable[..., HardwareContext]: ...

    @property
    def kernel(self) -> Callable[..., KernelHandle]: ...

    @property
    def run(self) -> Callable[..., RunHandle]: ...

    @property
    def bo(self) -> Callable[..., BufferObject]: ...

    @property
    def xclBOSyncDirection(self) -> object: ...  # noqa: N802


def device_name(module: DeviceModule, device: OpenDevice) -> str:
    """What the device calls itself ("RyzenAI-npu1"); "NPU" where this pyxrt cannot ask."""
    key, ask = getattr(module, "xrt_info_device", None), getattr(device, "get_info", None)
    return "NPU" if key is None or ask is None else str(ask(key.name))


def member(owner: object, name: str) -> Named:
    """An enum's member, or a flag that a class exports. Raises AttributeError."""
    return cast("Named", getattr(owner, name))
