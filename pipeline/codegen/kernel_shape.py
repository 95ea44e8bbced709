"""What the inner kernel works on, and the table that its parts put their instructions into."""

from __future__ import annotations

from dataclasses import dataclass, field

from .matrix_modes import MatrixMode


@dataclass(frozen=True, slots=True)
class KernelShape:
    """A tile of `rows` x `inner` by `inner` x `columns`, each a multiple of the mode's group or block.

    `left_transposed`: A stands as blocks of `inner` rows of four of its columns; otherwise, for each
    block of inner values, all its rows. `right_transposed`: for each block of inner values, all columns;
    otherwise blocks of columns, each with all inner values.
    """

    mode: MatrixMode
    rows: int
    columns: int
    inner: int
    left_transposed: bool = False
    right_transposed: bool = False

    @property
    def row_groups(self) -> int:
        return self.rows // self.mode.group_rows

    @property
    def column_groups(self) -> int:
        return self.columns // self.mode.group_columns

    @property
    def groups(self) -> int:
        return self.row_groups * self.column_groups

    @property
    def steps(self) -> int:
        """Inner blocks, each a step of as many products as a group has blocks."""
        return self.inner // self.mode.inner

    @property
    def step_bundles(self) -> int:
        return self.mode.row_blocks * self.mode.column_blocks


class KernelDoesNotFit(Exception):
    """The shape needs more registers or slots than there are; another one is to be chosen."""


@dataclass(slots=True)
class BundleTable:
    """Instructions by time and slot; what is before the first product has negative times."""

    slots: dict[int, dict[str, str]] = field(default_factory=dict[int, dict[str, str]])

    def add(self, time: int, slot: str, text: str) -> None:
        bundle = self.slots.setdefault(time, {})
        if slot in bundle:
            raise KernelDoesNotFit(f"{slot} is taken at {time}: {bundle[slot]} and {text}")
        bundle[slot] = text

    def listed(self) -> tuple[tuple[str, ...], ...]:
        begin, end = min(self.slots), max(self.slots)
        return tuple(tuple(self.slots.get(time, {}).values()) for time in range(begin, end + 1))
