"""`elf`, `program` and `module` of the emulated pyxrt: control code in an ELF file instead of a buffer.

The instruction stream is the section `.ctrltext`. Streams whose buffer addresses are ELF relocations, and
ELFs that bring the whole configuration (npu2 and later), are refused by name.
"""

from __future__ import annotations

import struct
from pathlib import Path

from .contexts import FULL_ELF, hw_context, kernel
from .emulation import current
from .images import uuid
from .overloads import bound, choose
from .values import invalid_argument

_MAGIC = b"\x7fELF"

# e_shoff, e_shentsize, e_shnum, e_shstrndx; sh_name, sh_offset, sh_size (System V ABI, by class)
_HEADERS = {1: ("<32xI10xHHH", "<I12xII"), 2: ("<40xQ10xHHH", "<I20xQQ")}


@bound("elf")
class elf:  # noqa: N801 (pyxrt's name)
    """An ELF file with control code. Raises RuntimeError when it is none."""

    def __init__(self, *arguments: object) -> None:
        _, values = choose("elf", current().settings.release, arguments, {})
        path = str(values[0])
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise RuntimeError(f"Failed to open file '{path}' for reading: {error.strerror}") from error
        try:
            self._sections = _sections(data)
        except (struct.error, ValueError) as error:
            raise RuntimeError(f"'{path}' is not a valid ELF file: {error}") from error

    @property
    def control(self) -> bytes:
        """The instruction stream. Not part of pyxrt. Raises RuntimeError where there is none."""
        if ".ctrltext" not in self._sections:
            raise invalid_argument("No control code in the ELF (no section .ctrltext)")
        if any(name.startswith(".rela") for name in self._sections):
            raise RuntimeError("the emulated device does not apply the relocations of ELF control code")
        return self._sections[".ctrltext"]


@bound("program")
class program:  # noqa: N801
    """A program for the array."""

    def __init__(self, *arguments: object) -> None:
        _, values = choose("program", current().settings.release, arguments, {})
        self._elf = values[0]

    def get_partition_size(self) -> int:
        """Columns that it wants: control code alone has none of its own."""
        raise RuntimeError(FULL_ELF)


@bound("module")
class module:  # noqa: N801
    """Control code that a kernel executes."""

    def __init__(self, *arguments: object, **named: object) -> None:
        key, values = choose("module", current().settings.release, arguments, named)
        self._context: hw_context | None = None
        if key == "child":
            parent, context = values
            assert isinstance(parent, module)
            assert isinstance(context, hw_context)
            self._elf, self._context = parent._elf, context
            return
        made = values[0]
        assert isinstance(made, elf)
        self._elf = made

    def get_hw_context(self) -> hw_context:
        """The context it belongs to."""
        if self._context is None:
            raise RuntimeError("No hardware context associated with the module")
        return self._context

    def get_cfg_uuid(self) -> uuid:
        """UUID of its configuration: none of its own."""
        return uuid("00000000-0000-0000-0000-000000000000")

    @property
    def control(self) -> bytes:
        """The instruction stream. Not part of pyxrt."""
        return self._elf.control


@bound("ext.kernel")
class ext_kernel(kernel):  # noqa: N801
    """`ext.kernel(context, module, name)`: the module brings the instructions, arguments 1 and 2 are 0."""

    def __init__(self, *arguments: object, **named: object) -> None:
        key, values = choose("ext.kernel", current().settings.release, arguments, named)
        if key == "module":
            code = values[1]
            assert isinstance(code, module)
            self._open(values[0], values[2], code.control)
        else:
            self._open(values[0], values[1], None)


ext_kernel.__name__ = ext_kernel.__qualname__ = "kernel"


def _sections(data: bytes) -> dict[str, bytes]:
    """Contents by name. Raises struct.error or ValueError for what is no ELF or lies outside the file."""
    if data[:4] != _MAGIC or len(data) < 5 or data[4] not in _HEADERS:
        raise ValueError("no ELF header")
    header, entry = _HEADERS[data[4]]
    table, size, count, names_index = (int(value) for value in struct.unpack_from(header, data))
    rows = [_row(data, entry, table + size * number) for number in range(count)]
    if not 0 <= names_index < len(rows):
        raise ValueError("no section names")
    if any(offset > len(data) for _, offset, _ in rows):
        raise ValueError("a section lies outside the file")
    _, start, length = rows[names_index]
    names = data[start : start + length]
    return {
        names[at : names.find(b"\0", at)].decode("ascii", "replace"): data[offset : offset + length]
        for at, offset, length in rows
    }


def _row(data: bytes, entry: str, at: int) -> tuple[int, int, int]:
    name, offset, size = (int(value) for value in struct.unpack_from(entry, data, at))
    return name, offset, size
