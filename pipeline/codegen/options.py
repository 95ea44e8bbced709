"""What a user may ask of a compilation, the same for every backend."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """`source_date_epoch` is the time, in seconds, that artifacts say they were made at (SOURCE_DATE_EPOCH
    of reproducible-builds.org; given, never read from the environment or a clock here). `cores` is how
    many cores may be used at most, `grid` exactly which: rows and columns of them. `ordinal` tells apart
    dispatches whose names begin alike: the place in the program. `tile` bounds the tiles of a matmul:
    rows, columns and inner values of it as written. `aie`: the design
    is left as MLIR of the aie dialect, too."""

    target: str = "npu1"
    cores: int = 16
    grid: tuple[int, int] | None = None
    source_date_epoch: int = 0
    ordinal: int = 0
    tile: tuple[int, int, int] | None = None
    aie: bool = False
