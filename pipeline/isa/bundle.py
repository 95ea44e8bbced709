"""What decoding gives and encoding takes: slot instructions and bundles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .table import Opcode


@dataclass(frozen=True, slots=True)
class SlotInstruction:
    """An opcode with its operands' values, by the operand names of the table.

    Registers are names as the table writes them ("r5", "p0", "x3", "cm2", "SP", "LC"), immediates are
    ints as assembly writes them (bytes for addresses). Operands that are tied to another one are not
    repeated. Two instructions are equal when opcode and operands are.
    """

    opcode: Opcode
    operands: Mapping[str, str | int]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # The scheduler looks pairs of instructions up by the hundred thousand.
        object.__setattr__(self, "_hash", hash((self.opcode.name, frozenset(self.operands.items()))))

    def __hash__(self) -> int:
        return self._hash

    def register(self, name: str) -> str:
        """The register operand `name`; KeyError where there is none."""
        value = self.operands[name]
        if isinstance(value, int):
            raise KeyError(f"{self.opcode.name}: {name} is an immediate")
        return value

    def immediate(self, name: str) -> int:
        """The immediate operand `name`; KeyError where there is none."""
        value = self.operands[name]
        if isinstance(value, str):
            raise KeyError(f"{self.opcode.name}: {name} is a register")
        return value


@dataclass(frozen=True, slots=True)
class Bundle:
    """The instructions that issue together: `size` bytes at `address`, slot nops left out."""

    address: int
    size: int
    format: str
    slots: tuple[SlotInstruction, ...]

    @property
    def end(self) -> int:
        """Address of the bundle that follows in memory."""
        return self.address + self.size
