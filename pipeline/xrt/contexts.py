"""`device`, `hw_context` and `kernel` of the emulated pyxrt.

A context owns a partition: its array is configured when a kernel of it first runs, keeps its state from
run to run, and is configured anew after a failed run, as the driver resets a partition after a time-out.
"""

from __future__ import annotations

import gc
import warnings
from collections import deque
from typing import TYPE_CHECKING, ClassVar

from .emulation import Emulation, current
from .images import uuid, xclbin
from .overloads import bound, choose
from .releases import FIRST_CLASS_CONTEXTS, LENIENT_GROUP_ID, at_least
from .silicon import NO_BANK, Array, InstructionStream, KernelImage, XclbinImage
from .values import BoundEnum, as_unsigned, incompatible, invalid_argument, xrt_info_device

if TYPE_CHECKING:
    from .runs import Command, run


@bound("device")
class device:  # noqa: N801 (pyxrt's name)
    """The emulated NPU: `device(0)`, `device(bdf)`; `device()` is an empty handle, of no use."""

    def __init__(self, *arguments: object, **named: object) -> None:
        emulation = current()
        key, values = choose("device", emulation.settings.release, arguments, named)
        if key == "bdf" and values[0] != emulation.settings.profile.bdf:
            raise RuntimeError(f"No such device '{values[0]}'")
        if key == "index" and values[0] != 0:
            raise RuntimeError(f" No such device with index '{values[0]}'")
        self._opened = None if key == "empty" else emulation
        self._images: dict[str, XclbinImage] = {}
        self._last: str | None = None

    def register_xclbin(self, binary: xclbin, /) -> uuid:
        """Makes an xclbin known; contexts are then made from its UUID."""
        _ = self.emulation
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
        _deprecated(self.emulation, "device.load_xclbin is deprecated: use register_xclbin and hw_context")
        raise RuntimeError("load_xclbin: Operation not supported")

    def get_xclbin_uuid(self) -> uuid:
        """UUID of the xclbin registered last; all zeros when there is none."""
        return uuid(self._last or "00000000-0000-0000-0000-000000000000")

    def get_info(self, key: xrt_info_device, /) -> str:
        """Properties as text; "NA" for those that an emulated device does not have."""
        profile = self.emulation.settings.profile
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
        if self._opened is None:
            raise RuntimeError("device() opened no device (real pyxrt would crash here): use device(0)")
        return self._opened

    def image(self, name: uuid) -> XclbinImage:
        """The registered xclbin with this UUID. Not part of pyxrt."""
        image = self._images.get(name.to_string())
        if image is None:
            raise invalid_argument(f"No xclbin with uuid '{name.to_string()}'")
        return image


FULL_ELF = (
    "Failed to load the ELF: Operation not supported (a full ELF configures npu2 and later; "
    "the emulated NPU is npu1, which takes an xclbin)"
)


@bound("hw_context.access_mode")
class access_mode(BoundEnum):  # noqa: N801
    """How a context shares its columns."""

    exclusive = 0
    shared = 1


@bound("hw_context")
class hw_context:  # noqa: N801 (pyxrt's name)
    """A partition of the array with one xclbin's configuration. Raises RuntimeError for too many columns or
    contexts, and for an ELF configuration, which npu1 does not take."""

    access_mode: ClassVar = access_mode
    exclusive: ClassVar = access_mode.exclusive
    shared: ClassVar = access_mode.shared

    def __init__(self, *arguments: object, **named: object) -> None:
        self._image: XclbinImage | None = None
        key, values = choose("hw_context", current().settings.release, arguments, named)
        if key == "empty":
            return
        if key in ("elf", "staged"):
            raise RuntimeError(FULL_ELF)
        owner, binary, *rest = values
        assert isinstance(owner, device)
        if isinstance(binary, str):
            binary = xclbin(binary)
        if isinstance(binary, xclbin):
            binary = owner.register_xclbin(binary)
        assert isinstance(binary, uuid)
        mode = rest[0] if rest else None
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
        self.pending: deque[Command] = deque()  # started, not yet executed, in order
        contexts.add(self)

    def add_config(self, elf: object, /) -> None:
        """Attaches an ELF configuration: not for npu1."""
        del elf
        raise RuntimeError(FULL_ELF)

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

    def array(self, kernel_image: KernelImage, deadline: float | None = None) -> Array:
        """The array as configured for this kernel; `deadline` is a time of time.monotonic().

        Raises ArtifactError for a bad configuration, EmulationError for what it does.
        """
        if self._array is None or self._array[0] != kernel_image.name:
            emulation = self.emulation
            image = self.image
            made = emulation.silicon.configure(
                image.columns, emulation.space, kernel_image.pdi, images=image.pdis, deadline=deadline
            )
            self._array = kernel_image.name, made
        return self._array[1]

    def reset(self) -> None:
        """Forgets the array's state; the next run configures it anew."""
        self._array = None


@bound("kernel.cu_access_mode")
class cu_access_mode(BoundEnum):  # noqa: N801
    """How a kernel object shares its compute unit; of no effect on NPUs."""

    exclusive = 0
    shared = 1
    none = 2


@bound("kernel")
class kernel:  # noqa: N801
    """A kernel of a context's xclbin, by name or NAME:{INSTANCE}."""

    cu_access_mode: ClassVar = cu_access_mode
    exclusive: ClassVar = cu_access_mode.exclusive
    shared: ClassVar = cu_access_mode.shared
    none: ClassVar = cu_access_mode.none

    def __init__(self, *arguments: object, **named: object) -> None:
        key, values = choose("kernel", current().settings.release, arguments, named)
        context, name = values[0], values[-1] if key == "context" else values[2]
        if isinstance(context, device):  # the old form has a hidden context
            context = hw_context(context, values[1])
            _deprecated(context.emulation, "kernel(device, uuid, name) is deprecated: make a hw_context")
        self._open(context, name, None)

    def _open(self, context: object, name: object, control: bytes | None) -> None:
        assert isinstance(context, hw_context)
        assert isinstance(name, str)
        wanted = name.partition(":")[0]
        found = [image for image in context.image.kernels if image.name == wanted]
        if not found:
            raise invalid_argument(f"No such kernel '{wanted}'")
        self._context = context
        self._image = found[0]
        self._control = control
        self._decoded: tuple[bytes, InstructionStream] | None = None

    def __call__(self, *arguments: object) -> run:
        """Sets all arguments, starts, and returns the run.

        pyxrt swallows what it cannot set, and the command then holds values of some earlier run: so it is
        where the emulation is lenient. Else that is an error.
        """
        emulation = self._context.emulation
        made = self._new_run()
        for index, value in enumerate(arguments):
            try:
                made.set_arg(index, value)
            except (TypeError, RuntimeError, IndexError) as error:
                if emulation.settings.lenient:
                    emulation.note(f"argument {index} of kernel '{self._image.name}' was swallowed: {error}")
                    continue
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
        release = self._context.emulation.settings.release
        if number >= len(parameters) and not at_least(release, LENIENT_GROUP_ID):
            raise IndexError(
                f"vector::_M_range_check: __n (which is {number}) >= this->size() "
                f"(which is {len(parameters)})"
            )
        bank = parameters[number].bank if number < len(parameters) else None
        if bank is None:
            what = f"argument {number} of '{self._image.name}' was asked for its memory group"
            self._context.emulation.misused("A002", self._image.name, what, argument=number)
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

    @property
    def control(self) -> bytes | None:
        """Instructions that came with a module; None where an argument brings them."""
        return self._control

    def decode(self, data: bytes) -> InstructionStream:
        """The instruction stream in `data`; the last one is kept, as repeats send the same. Raises
        ArtifactError."""
        if self._decoded is None or self._decoded[0] != data:
            self._decoded = data, self._context.emulation.silicon.decode(data)
        return self._decoded[1]


def _deprecated(emulation: Emulation, text: str) -> None:
    if at_least(emulation.settings.release, FIRST_CLASS_CONTEXTS):
        warnings.warn(text, DeprecationWarning, stacklevel=3)
