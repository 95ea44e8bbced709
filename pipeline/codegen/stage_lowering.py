"""The general path: any dispatch of linalg ops, as stages in scalar code, its tiles shared out to cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import UnsupportedOp
from ..isa.assembler import CodeImage
from ..npu.limits import WORD_BYTES
from .configuration import Design, TileDesign
from .stage_control import TRANSFERS_MAXIMUM, StageControl, arrival_count, explained
from .stage_lanes import connections, lanes
from .stage_program import IN_FREE, OUT_FREE, stage_program
from .stage_tiling import StageTiling, choose_tiles
from .stages import Staged


@dataclass(frozen=True, slots=True)
class StageLowered:
    """The parts of `lowering.Lowered`."""

    design: Design
    image: CodeImage
    control: StageControl
    notes: tuple[str, ...]


def lower_stages(staged: Staged, *, cores: int = 1, grid: tuple[int, int] | None = None) -> StageLowered:
    """On up to `cores` cores, or within `grid`. Raises UnsupportedOp for what does not fit into a core or its
    DMAs."""
    tiling = choose_tiles(staged, lambda found: len(lanes(found, cores, grid)))
    staged = tiling.staged
    used = lanes(tiling, cores, grid)
    arrivals = arrival_count(tiling)
    if arrivals > TRANSFERS_MAXIMUM - len(staged.stores):
        raise _too_many(tiling, arrivals)
    program = stage_program(tiling, arrivals)
    core = TileDesign(
        code=program.image.code,
        data=dict(_data(tiling)),
        locks={IN_FREE: arrivals, OUT_FREE: len(staged.stores)},
        descriptors={},
        channels=(),
    )
    tiles = {lane.core: core for lane in used}
    columns = 1 + max(lane.column for lane in used)
    design = Design(tiles, tuple(dict.fromkeys(connections(used))), columns)
    notes = (*explained(tiling, len(used)), f"program: {len(program.image.code)} bytes")
    return StageLowered(design, program.image, StageControl(tiling, program.frame, used), notes)


def _data(tiling: StageTiling) -> Iterator[tuple[int, bytes]]:
    """Constants by their offset in the core's memory; and zeros in a last word that a result only begins,
    as the DMA sends all of it."""
    for number, tensor in enumerate(tiling.staged.tensors):
        if tensor.view is not None and tensor.view.data is not None:
            yield tiling.addresses[number], tensor.view.data
    *_, last = tiling.steps()
    for number, store in enumerate(tiling.staged.stores):
        if not tiling.forms[store.tensor].regular:
            words = tiling.store(number, last).core.length_words
            yield tiling.addresses[store.tensor] + WORD_BYTES * (words - 1), bytes(WORD_BYTES)


def _too_many(tiling: StageTiling, arrivals: int) -> UnsupportedOp:
    stage = tiling.staged.stages[-1]
    return UnsupportedOp(
        f"the built-in backend cannot lower {stage.op} of {tiling.staged.name}: {arrivals} transfers in and "
        f"{len(tiling.staged.stores)} out per tile",
        location=stage.location,
        remedy=f"use at most {TRANSFERS_MAXIMUM} tensors in one fused op",
        op=stage.op,
    )
