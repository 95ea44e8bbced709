"""The cores that steps of a staged dispatch are shared out to, each with a shim channel of its own.

First one core in each column, at the shim's channel 0; then a second one above it, at channel 1, if the 16
BDs of the shim are enough for both. Tiles of results take turns over the lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..npu.limits import COLUMNS, LIMITS
from ..npu.topology import (
    FIRST_COMPUTE_ROW,
    MEMORY_ROW,
    SHIM_DMA_MASTERS,
    SHIM_DMA_SLAVES,
    SHIM_ROW,
    TOKEN_MASTER,
    Bundle,
    Port,
    TileAddress,
    TileKind,
)
from .routes import Connection
from .stage_tiling import FRAME_SLOTS, StageTiling, Step


@dataclass(frozen=True, slots=True)
class Lane:
    """A core `level` places above the first one of its column; `level` is the shim's channel, too.

    `first_descriptor` is the first of the shim's BDs that it may use, `slot_descriptors` how many per slot.
    """

    column: int
    level: int
    first_descriptor: int
    slot_descriptors: int

    @property
    def core(self) -> TileAddress:
        return TileAddress(self.column, FIRST_COMPUTE_ROW + self.level)

    @property
    def shim(self) -> TileAddress:
        return TileAddress(self.column, SHIM_ROW)


def lanes(tiling: StageTiling, cores: int, grid: tuple[int, int] | None) -> tuple[Lane, ...]:
    """As many lanes as there are tiles of results, up to `cores` or within `grid` (rows, columns)."""
    rows, columns = grid or (SHIM_CHANNELS, COLUMNS)
    if tiling.serial:
        rows = columns = 1
    count = LIMITS[TileKind.SHIM].descriptors
    moved = len(tiling.loads) + len(tiling.staged.stores) + sum(tiling.merged)
    levels = min(rows, SHIM_CHANNELS if SHIM_CHANNELS * FRAME_SLOTS * moved <= count else 1)
    width = min(columns, COLUMNS)
    wanted = min(tiling.step_count // tiling.steps_of_a_result, cores, levels * width)
    levels = -(-wanted // width)
    each = count // levels
    return tuple(
        Lane(number % width, number // width, number // width * each, each // FRAME_SLOTS)
        for number in range(wanted)
    )


def shared_out(tiling: StageTiling, count: int) -> list[list[Step]]:
    """The steps of each of `count` lanes: all steps of one result's tile go to the same lane."""
    shares: list[list[Step]] = [[] for _ in range(count)]
    for number, step in enumerate(tiling.steps()):
        shares[number // tiling.steps_of_a_result % count].append(step)
    return shares


SHIM_CHANNELS = LIMITS[TileKind.SHIM].channels


def connections(used: Sequence[Lane]) -> Iterator[Connection]:
    """All wires: data both ways, and tokens."""
    for lane in used:
        north, south = Port(Bundle.NORTH, lane.level), Port(Bundle.SOUTH, lane.level)
        dma, memory = Port(Bundle.DMA, 0), TileAddress(lane.column, MEMORY_ROW)
        yield Connection(lane.shim, SHIM_DMA_SLAVES[lane.level], north)
        yield Connection(lane.shim, north, SHIM_DMA_MASTERS[lane.level])
        between = [memory, *(TileAddress(lane.column, FIRST_COMPUTE_ROW + row) for row in range(lane.level))]
        for tile in between:
            yield Connection(tile, south, north)
            yield Connection(tile, north, south)
        yield Connection(lane.core, south, dma)
        yield Connection(lane.core, dma, south)
    for column in sorted({lane.column for lane in used}):
        yield Connection(TileAddress(column, SHIM_ROW), Port(Bundle.CONTROL), TOKEN_MASTER)
