"""Program memory as bundles with their meanings, decoded when first needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ...errors import ArtifactError
from ...isa.bundle import Bundle
from ...isa.decode import decode_bundle
from ...isa.semantics import Meaning, meaning_of
from ...isa.semantics.meaning import BRANCH_DELAY, PortUse

if TYPE_CHECKING:
    from .flight import Cell, Shape

PROGRAM_BYTES = 0x4000


@dataclass(frozen=True)
class Issue:
    """A bundle and the meaning of each of its slots."""

    bundle: Bundle
    meanings: tuple[Meaning, ...]

    @cached_property
    def ports(self) -> tuple[tuple[int, PortUse], ...]:
        """The uses of the tile's ports, with the slot that each is in."""
        return tuple((slot, use) for slot, meaning in enumerate(self.meanings) for use in meaning.ports)


class CannotIssue(Exception):
    """There is no executable bundle at an address; `kind` as in EmulationError."""

    def __init__(self, kind: str, message: str, address: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.address = address


class Program:
    """Decoded program memory. `changed` has to be called when the bytes were written."""

    def __init__(self, code: bytes | bytearray | memoryview) -> None:
        self.code = code
        self.flight_cells: dict[Shape, tuple[Cell, ...]] = {}
        """Kept by flight.py."""
        self._issues: dict[int, Issue] = {}

    def changed(self) -> None:
        self._issues.clear()
        self.flight_cells.clear()

    def issue(self, address: int) -> Issue:
        """The bundle at `address`. Raises CannotIssue."""
        found = self._issues.get(address)
        if found is None:
            found = self._decode(address)
            self._issues[address] = found
        return found

    def return_address(self, address: int) -> int:
        """Where execution goes on after the branch at `address` and the bundles of its delay slots."""
        for _ in range(BRANCH_DELAY + 1):
            address = self.issue(address).bundle.end
        return address

    def _decode(self, address: int) -> Issue:
        if not 0 <= address < len(self.code):
            raise CannotIssue("out-of-range", "execution left program memory", address)
        try:
            bundle = decode_bundle(self.code, address)
        except ArtifactError as error:
            raise CannotIssue("unknown-instruction", error.message, address) from None
        meanings: list[Meaning] = []
        for instruction in bundle.slots:
            meaning = meaning_of(instruction)
            if meaning is None:
                opcode = instruction.opcode
                message = f"the emulator has no meaning for {opcode.mnemonic} ({opcode.name})"
                raise CannotIssue("unknown-instruction", message, address)
            meanings.append(meaning)
        return Issue(bundle, tuple(meanings))
