"""EMBEDDED_METADATA: the XML of an xclbin that declares kernels and their arguments.

Read with expat, which is told to refuse any DTD: no entity is ever expanded, so a file cannot grow in
memory. Source: real files of XRT 2.17 to 2.23. facts/formats.md sections 1.3 and 1.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Never
from xml.parsers import expat

from ..errors import ArtifactError
from .reader import Reader

ARTIFACT = "EMBEDDED_METADATA"

_MAXIMUM_DEPTH = 64

# what an attribute's value may not hold as it is, and what a reader would turn into a blank (XML 1.0, 3.3.3);
# not xml.sax.saxutils, which imports the whole of urllib and ssl
_IN_QUOTES = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "\n": "&#10;",
        "\r": "&#13;",
        "\t": "&#9;",
    }
)


@dataclass(frozen=True, slots=True)
class ArgumentDeclaration:
    """An argument of a kernel; `offset` and `size_bytes` are those of its slot in the command."""

    name: str
    index: int
    offset: int
    size_bytes: int
    type: str
    is_global: bool


@dataclass(frozen=True, slots=True)
class KernelDeclaration:
    """A kernel, its instances and arguments. `kernel_id` is None where the file does not say it."""

    name: str
    instances: tuple[str, ...]
    arguments: tuple[ArgumentDeclaration, ...]
    kernel_id: int | None
    functional: int = 0
    subtype: int = 1
    language: str = "c"
    kernel_type: str = "dpu"


def parse(data: bytes, *, base: int = 0) -> tuple[KernelDeclaration, ...]:
    """Reads the section. Raises ArtifactError for malformed XML, a DTD, or a value that is no number."""
    return _Parser(data.rstrip(b"\0"), base).kernels()


def encode(kernels: Sequence[KernelDeclaration]) -> bytes:
    """The section as XRT 2.21's xclbinutil writes it."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<project>", "  <platform>", "    <device>"]
    lines.append("      <core>")
    for kernel in kernels:
        lines.append(
            "        " + _open("kernel", name=kernel.name, language=kernel.language, type=kernel.kernel_type)
        )
        if kernel.kernel_id is not None:
            lines.append(
                "          "
                + _closed(
                    "extended-data",
                    dpu_kernel_id=f"{kernel.kernel_id:#x}",
                    functional=str(kernel.functional),
                    subtype=str(kernel.subtype),
                )
            )
        lines.extend("          " + _argument(argument) for argument in kernel.arguments)
        lines.extend("          " + _closed("instance", name=instance) for instance in kernel.instances)
        lines.append("        </kernel>")
    lines += ["      </core>", "    </device>", "  </platform>", "</project>", ""]
    return "\n".join(lines).encode("utf-8")


def _argument(argument: ArgumentDeclaration) -> str:
    return _closed(
        "arg",
        name=argument.name,
        addressQualifier=str(int(argument.is_global)),
        id=str(argument.index),
        size=f"{argument.size_bytes:#x}",
        offset=f"0x{argument.offset:02X}",
        hostOffset="0x0",
        hostSize=f"{argument.size_bytes:#x}",
        type=argument.type,
    )


def _open(tag: str, **attributes: str) -> str:
    row = " ".join(f'{name}="{value.translate(_IN_QUOTES)}"' for name, value in attributes.items())
    return f"<{tag} {row}>"


def _closed(tag: str, **attributes: str) -> str:
    return _open(tag, **attributes)[:-1] + "/>"


# --------------------------------------------------------------------------- reading


class _Parser:
    """Collects the kernel elements of one document."""

    def __init__(self, data: bytes, base: int) -> None:
        self._reader = Reader(data, ARTIFACT, base=base)
        self._found: list[_Kernel] = []
        self._depth = 0
        # the document's own choice of encoding is not followed: a codec is not a file's to name
        self._expat = expat.ParserCreate("utf-8")
        self._expat.StartDoctypeDeclHandler = self._refuse_doctype
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end

    def kernels(self) -> tuple[KernelDeclaration, ...]:
        try:
            self._expat.Parse(self._reader.data, True)
        except expat.ExpatError as error:
            raise ArtifactError(
                f"malformed XML: {error}", artifact=ARTIFACT, offset=self._reader.base + self._offset()
            ) from error
        return tuple(kernel.declaration() for kernel in self._found)

    def _offset(self) -> int:
        return max(0, self._expat.CurrentByteIndex)

    def _refuse_doctype(self, *_: object) -> Never:
        self._reader.fail("the XML has a DTD, which no xclbin needs", self._offset())

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAXIMUM_DEPTH:
            self._reader.fail(f"XML nested deeper than {_MAXIMUM_DEPTH}", self._offset())
        if tag == "kernel":
            self._found.append(_Kernel(dict(attributes), [], [], {}))
        elif self._found:
            self._inside_kernel(self._found[-1], tag, attributes)

    def _end(self, _tag: str) -> None:
        self._depth -= 1

    def _inside_kernel(self, kernel: _Kernel, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "instance":
            kernel.instances.append(attributes.get("name", ""))
        elif tag == "extended-data":
            kernel.extended.update({name: self._number(attributes, name) for name in attributes})
        elif tag == "arg":
            kernel.arguments.append(
                ArgumentDeclaration(
                    attributes.get("name", ""),
                    self._number(attributes, "id"),
                    self._number(attributes, "offset"),
                    self._number(attributes, "size"),
                    attributes.get("type", ""),
                    self._number(attributes, "addressQualifier") == 1,
                )
            )

    def _number(self, attributes: Mapping[str, str], name: str) -> int:
        text = attributes.get(name, "0")
        try:
            return int(text, 0)
        except ValueError:
            self._reader.fail(f"{name}={text[:40]!r} is not a number", self._offset())


@dataclass(frozen=True, slots=True)
class _Kernel:
    attributes: dict[str, str]
    instances: list[str]
    arguments: list[ArgumentDeclaration]
    extended: dict[str, int]

    def declaration(self) -> KernelDeclaration:
        return KernelDeclaration(
            self.attributes.get("name", ""),
            tuple(self.instances),
            tuple(sorted(self.arguments, key=lambda argument: argument.index)),
            self.extended.get("dpu_kernel_id"),
            self.extended.get("functional", 0),
            self.extended.get("subtype", 1),
            self.attributes.get("language", "c"),
            self.attributes.get("type", "dpu"),
        )
