"""`device`, `hw_context` and `kernel` of the emulated pyxrt.

A context owns a partition: its array is configured when a kernel of it first runs, keeps its state from
run to run, and is configured anew after a failed run, as the driver resets a partition after a time-out.
"""

from __future__ import annotations

import gc
from collections import deque
from typing import TYPE_CHECKING, ClassVar

from .emulation import Emulation, current
from .images import uuid, xclbin
from .silicon import NO_BANK, Array, InstructionStream, KernelImage, XclbinImage
from .values import BoundEnum, as_unsigned, incompatible, invalid_argument, xrt_info_device

if TYPE_CHECKING:
    from .runs import run


class device:  # noqa: N801 (pyxrt's name)
    """The emulated NPU: `device()`, `device(0)`, `device(bdf)`."""

    def __init__(self, index: int | str = 0, /) -> None:
        self._emulation = current()
        profile = self._emulation.settings.profile
        if isinstance(index, str):
            if index != profile.bdf:
                raise RuntimeError(f"No such device '{index}'")
        else:
            number = as_unsigned(index)
            if number is None:
                forms = ("pyxrt.device()", "pyxrt.device(arg0: int)", "pyxrt.device(arg0: str)")
                raise incompatible("__init__", forms, index)
            if number != 0:
                raise RuntimeError(f" No such device with index '{number}'")
        self._images: dict[str, XclbinImage] = {}
        self._last: str | None = None

    def register_xclbin(self, binary: xclbin, /) -> uuid:
        """Makes an xclbin known; contexts are then made from its UUID."""
        if not isinstance(binary, xclbin):  # pyright: ignore[reportUnnecessaryIsInstance]
            form = "(self: pyxrt.device, arg0: pyxrt.xclbin) -> pyxrt.uuid"
            raise incompatible("register_xclbin", (form,), binary)
        image = binary.image
        self._images[image.uuid] = image
        self._last = image.uuid
        return uuid(image.uuid)

    def load_xclbin(self, binary: xclbin | str, /) -> uuid:
        """Not for NPUs: the driver has no whole-device load."""
        del binary
        raise RuntimeError("load_xclbin: Operation not supported")

    def get_xclbin_uuid(self) -> uuid:
        """UUID of the xclbin registered last; all zeros when there is none."""
        return uuid(self._last or "00000000-0000-0000-0000-000000000000")

    def get_info(self, key: xrt_info_device, /) -> str:
        """Properties as text; "NA" for those that an emulated device does not have."""
        profile = self._emulation.settings.profile
        known = {
            xrt_info_device.bdf: profile.bdf,
            xrt_info_device.interface_uuid: "00000000-0000-0000-0000-000000000000",
            xrt_info_device["name"]: profile.name,
            xrt_info_device.kdma: "0",
            xrt_info_device.m2m: "0",
            xrt_info_device.nodma: "0",
            xrt_info_device.offline: "0",
            xrt_info_device.max_clock_frequency_mhz: "1000",
        }
        return known.get(key, "NA")

    @property
    def emulation(self) -> Emulation:
        """Not part of pyxrt: where the emulated memory and the events are."""
        return self._emulation

    def image(self, name: uuid) -> XclbinImage:
        """The registered xclbin with this UUID. Not part of pyxrt."""
        image = self._images.get(name.to_string())
        if image is None:
            raise invalid_argument(f"No xclbin with uuid '{name.to_string()}'")
        return image


class access_mode(BoundEnum):  # noqa: N801
    """How a context shares its columns."""

    exclusive = 0
    shared = 1


class hw_context:  # noqa: N801
    """A partition of the array with one xclbin's configuration: `(device, uuid[, mode | config])`,
    the same with an `xclbin`. Raises RuntimeError for too many columns or contexts."""

    access_mode: ClassVar = access_mode
    exclusive: ClassVar = access_mode.exclusive
    shared: ClassVar = access_mode.shared

    def __init__(
        self,
        owner: device | None = None,
        binary: uuid | xclbin | None = None,
        mode: access_mode | dict[str, int] = access_mode.shared,
        /,
    ) -> None:
        self._image: XclbinImage | None = None
        if owner is None and binary is None:
            return
        if isinstance(binary, xclbin) and isinstance(owner, device):
            owner.register_xclbin(binary)
            binary = binary.get_uuid()
        if not isinstance(owner, device) or not isinstance(binary, uuid):
            forms = ("pyxrt.hw_context()", "pyxrt.hw_context(arg0: pyxrt.device, arg1: pyxrt.uuid)")
            raise incompatible("__init__", forms, owner, binary)
        self._device = owner
        self._mode = mode if isinstance(mode, access_mode) else access_mode.shared
        image = owner.image(binary)
        profile = owner.emulation.settings.profile
        if not 1 <= image.columns <= profile.columns:
            raise RuntimeError(
                "DRM_IOCTL_AMDXDNA_CREATE_HWCTX IOCTL failed (err=-22): Invalid argument "
                f"(the xclbin wants {image.columns} columns, {profile.name} has {profile.columns})"
            )
        contexts = owner.emulation.contexts
        slots = {context.slot for context in contexts}
        if len(slots) >= profile.contexts:
            gc.collect()  # what only cycles hold is released on hardware, too, as far as a program can tell
            slots = {context.slot for context in contexts}
        if len(slots) >= profile.contexts:
            raise RuntimeError(
                "DRM_IOCTL_AMDXDNA_CREATE_HWCTX IOCTL failed (err=-2): MGMT_ERT_NOAVAIL 0x2000003 "
                f"({profile.contexts} hardware contexts are open)"
            )
        # a slot is never 0 on NPUs, so group ids have it in their upper half (docs/syncs.md)
        self.slot = next(number for number in range(1, profile.contexts + 1) if number not in slots)
        self._image = image
        self._array: tuple[str, Array] | None = None
        self.pending: deque[run] = deque()  # started, not yet executed, in order
        contexts.add(self)

    def get_device(self) -> device:
        """The device."""
        return self._device

    def get_xclbin_uuid(self) -> uuid:
        """UUID of its xclbin."""
        return uuid(self.image.uuid)

    def get_xclbin(self) -> xclbin:
        """Its xclbin."""
        return xclbin.of(self.image)

    def get_mode(self) -> access_mode:
        """How it shares."""
        return self._mode

    @property
    def image(self) -> XclbinImage:
        """Contents of its xclbin. Not part of pyxrt."""
        if self._image is None:
            raise invalid_argument(
                "Invalid API called for xrt::kernel creation, "
                "xrt::hw_context passed is not created using XCLBIN"
            )
        return self._image

    @property
    def emulation(self) -> Emulation:
        """Not part of pyxrt."""
        return self._device.emulation

    def array(self, kernel_image: KernelImage) -> Array:
        """The array as configured for this kernel. Raises ArtifactError for a bad configuration."""
        if self._array is None or self._array[0] != kernel_image.name:
            emulation = self.emulation
            image = self.image
            made = emulation.silicon.configure(
                image.columns, emulation.space, kernel_image.pdi, images=image.pdis
            )
            self._array = kernel_image.name, made
        return self._array[1]

    def reset(self) -> None:
        """Forgets the array's state; the next run configures it anew."""
        self._array = None


class cu_access_mode(BoundEnum):  # noqa: N801
    """How a kernel object shares its compute unit; of no effect on NPUs."""

    exclusive = 0
    shared = 1
    none = 2


class kernel:  # noqa: N801
    """A kernel of a context's xclbin, by name or NAME:{INSTANCE}."""

    cu_access_mode: ClassVar = cu_access_mode
    exclusive: ClassVar = cu_access_mode.exclusive
    shared: ClassVar = cu_access_mode.shared
    none: ClassVar = cu_access_mode.none

    def __init__(self, context: hw_context | device, name: object, *rest: object) -> None:
        if isinstance(context, device) and isinstance(name, uuid) and rest and isinstance(rest[0], str):
            context, name = hw_context(context, name), rest[0]  # the hidden context of the old form
        if not isinstance(context, hw_context) or not isinstance(name, str):
            form = "pyxrt.kernel(arg0: pyxrt.hw_context, arg1: str)"
            raise incompatible("__init__", (form,), context, name, *rest)
        wanted = name.partition(":")[0]
        found = [image for image in context.image.kernels if image.name == wanted]
        if not found:
            raise invalid_argument(f"No such kernel '{wanted}'")
        self._context = context
        self._image = found[0]
        self._decoded: tuple[bytes, InstructionStream] | None = None

    def __call__(self, *arguments: object) -> run:
        """Sets all arguments, starts, and returns the run.

        pyxrt swallows what it cannot set, and the command then holds values of some earlier run. Here
        that is an error.
        """
        made = self._new_run()
        for index, value in enumerate(arguments):
            try:
                made.set_arg(index, value)
            except (TypeError, RuntimeError, IndexError) as error:
                raise type(error)(
                    f"argument {index} of kernel '{self._image.name}': {error}\n"
                    "(pyxrt would ignore this and run with whatever an earlier command left there)"
                ) from error
        made.start()
        return made

    def group_id(self, index: int, /) -> int:
        """Memory bank of an argument, with the context's slot in bits 16 to 23; bank 0xFFFF for a scalar
        or an index past the table (XRT from 2.25 on)."""
        number = as_unsigned(index)
        if number is None:
            raise incompatible("group_id", ("(self: pyxrt.kernel, arg0: int) -> int",), index)
        parameters = self._image.parameters
        bank = parameters[number].bank if number < len(parameters) else None
        return (NO_BANK if bank is None else bank) | self._context.slot << 16

    # ----------------------------------------------------------------- ours

    run_class: ClassVar[type[run] | None] = None
    """Of a release's module where that is not the class itself (surface.py)."""

    def _new_run(self) -> run:
        from .runs import run  # noqa: PLC0415 (a run knows its kernel)

        return (self.run_class or run)(self)

    @property
    def image(self) -> KernelImage:
        """What the xclbin says of it."""
        return self._image

    @property
    def context(self) -> hw_context:
        """The context it was made from."""
        return self._context

    def decode(self, data: bytes) -> InstructionStream:
        """The instruction stream in `data`; the last one is kept, as repeats send the same. Raises
        ArtifactError."""
        if self._decoded is None or self._decoded[0] != data:
            self._decoded = data, self._context.emulation.silicon.decode(data)
        return self._decoded[1]
