"""`uuid` and `xclbin` of the emulated pyxrt: an xclbin read from a file, and what is in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from ..errors import AiepipeError
from .emulation import current
from .overloads import bound, choose
from .silicon import MemoryBank, XclbinImage
from .values import incompatible


@bound("uuid")
class uuid:  # noqa: N801 (pyxrt's name)
    """A UUID. As in pyxrt two of them are never equal: compare `to_string()`."""

    def __init__(self, text: str, /) -> None:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] (unchecked callers)
            raise incompatible("__init__", ("pyxrt.uuid(arg0: str)",), text)
        self._text = text

    def to_string(self) -> str:
        """The text form, lower case with dashes."""
        return self._text


class xclbinip:  # noqa: N801
    """A compute unit."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def get_name(self) -> str:
        """KERNEL:INSTANCE."""
        return self._name


class xclbinkernel:  # noqa: N801
    """A kernel and how many arguments it declares (opcode and instructions included)."""

    def __init__(self, name: str = "", arguments: int = 0) -> None:
        self._name = name
        self._arguments = arguments

    def get_name(self) -> str:
        """The kernel's name without the instance."""
        return self._name

    def get_num_args(self) -> int:
        """Number of declared arguments."""
        return self._arguments


class xclbinmem:  # noqa: N801
    """A memory bank."""

    def __init__(self, index: int = 0, bank: MemoryBank | None = None) -> None:
        self._index = index
        self._bank = bank if bank is not None else MemoryBank("", 0, 0, False)

    def get_tag(self) -> str:
        """Name of the bank: HOST, SRAM."""
        return self._bank.tag

    def get_base_address(self) -> int:
        """Base address."""
        return self._bank.base_address

    def get_size_kb(self) -> int:
        """Size in KiB."""
        return self._bank.size_kb

    def get_used(self) -> bool:
        """Whether the bank is in use."""
        return self._bank.used

    def get_index(self) -> int:
        """Position in MEM_TOPOLOGY: the bank number of group ids."""
        return self._index


class xclbinip_vector(list[xclbinip]):  # noqa: N801
    """std::vector of compute units."""


class xclbinkernel_vector(list[xclbinkernel]):  # noqa: N801
    """std::vector of kernels."""


class xclbinmem_vector(list[xclbinmem]):  # noqa: N801
    """std::vector of memory banks."""


@bound("xclbin")
class xclbin:  # noqa: N801
    """An xclbin file. Raises RuntimeError, its cause being the ArtifactError, when it cannot be read."""

    xclbinip: ClassVar = xclbinip
    xclbinkernel: ClassVar = xclbinkernel
    xclbinmem: ClassVar = xclbinmem

    def __init__(self, *arguments: object) -> None:
        self._image: XclbinImage | None = None
        _, values = choose("xclbin", current().settings.release, arguments, {})
        if not values:
            return
        path = str(values[0])
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise RuntimeError(f"Failed to open file '{path}' for reading: {error.strerror}") from error
        try:
            self._image = current().silicon.open(data)
        except AiepipeError as error:
            raise RuntimeError(f"Invalid xclbin '{path}': {error}") from error

    @classmethod
    def of(cls, image: XclbinImage) -> Self:
        """An xclbin object of contents that were read before. Not part of pyxrt."""
        made = cls()
        made._image = image
        return made

    @property
    def image(self) -> XclbinImage:
        """The contents. Not part of pyxrt."""
        if self._image is None:
            raise RuntimeError("No xclbin")
        return self._image

    def get_kernels(self) -> Sequence[xclbinkernel]:
        """The kernels, in file order."""
        return [xclbinkernel(kernel.name, len(kernel.parameters)) for kernel in self.image.kernels]

    def get_xsa_name(self) -> str:
        """The platform's name; empty for most NPU files."""
        return self.image.platform

    def get_uuid(self) -> uuid:
        """The file's UUID."""
        return uuid(self.image.uuid)

    def get_mems(self) -> Sequence[xclbinmem]:
        """The memory banks, in file order."""
        return [xclbinmem(index, bank) for index, bank in enumerate(self.image.banks)]

    def get_axlf(self) -> None:
        """An opaque pointer in pyxrt, of no use from Python."""
