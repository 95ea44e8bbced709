"""Reading of FlatBuffers without a schema compiler: tables, vectors and strings, each access checked.

Source: the FlatBuffers internals document (google.github.io/flatbuffers). A table begins with a signed
offset back to its vtable; the vtable holds the place of each field; references are unsigned and forward.
"""

from __future__ import annotations

from .reader import HeapReader, unpack_words


class Table:
    """A table at `at` of the buffer; fields are numbered as in the schema."""

    def __init__(self, buffer: HeapReader, at: int) -> None:
        self._buffer = buffer
        self._at = at
        back = int.from_bytes(buffer.take(at, 4, "a table"), "little", signed=True)
        self._vtable = at - back
        self._fields = (buffer.u16(self._vtable, "a vtable") - 4) // 2

    def string(self, field: int) -> bytes:
        """A string or vector of bytes; empty where the field is not there."""
        return self._vector(field, 1)[1]

    def head(self, field: int, size: int) -> bytes:
        """The first bytes of a vector, whatever its elements are; to look what it is."""
        target = self._reference(field)
        return b"" if target is None else self._buffer.data[target + 4 : target + 4 + size]

    def words(self, field: int) -> tuple[int, ...]:
        """A vector of 32-bit numbers."""
        return unpack_words(self._vector(field, 4)[1])

    def tables(self, field: int) -> tuple[Table, ...]:
        """A vector of tables."""
        return tuple(Table(self._buffer, target) for target in self._targets(field))

    def strings(self, field: int) -> tuple[bytes, ...]:
        """A vector of strings."""
        return tuple(self._elements(target, 1)[1] for target in self._targets(field))

    def _targets(self, field: int) -> tuple[int, ...]:
        at, data = self._vector(field, 4)
        return tuple(at + 4 * index + offset for index, offset in enumerate(unpack_words(data)))

    def _reference(self, field: int) -> int | None:
        """Where the thing that a field refers to stands."""
        if field >= self._fields:
            return None
        offset = self._buffer.u16(self._vtable + 4 + 2 * field, "a vtable entry")
        if not offset:
            return None
        place = self._at + offset
        return place + self._buffer.u32(place, "a reference")

    def _vector(self, field: int, element_bytes: int) -> tuple[int, bytes]:
        target = self._reference(field)
        return (0, b"") if target is None else self._elements(target, element_bytes)

    def _elements(self, target: int, element_bytes: int) -> tuple[int, bytes]:
        size = self._buffer.u32(target, "a vector's length") * element_bytes
        return target + 4, self._buffer.take_part(target + 4, size, "a vector")


def root(data: bytes, artifact: str, *, base: int = 0) -> Table:
    """The root table of a buffer. Raises ArtifactError, as every access to it may."""
    buffer = HeapReader(data, artifact, base=base)
    return Table(buffer, buffer.u32(0, "the root's offset"))
