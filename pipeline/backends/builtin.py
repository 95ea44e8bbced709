"""The built-in backend: AIE2 machine code with nothing but this package."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..codegen import compile_dispatch
from ..codegen.options import CompileOptions
from ..codegen.packaging import link
from ..errors import UsageError
from ..program import Artifact, Dispatch
from .settings import BackendSettings, KnownSetting


class BuiltinBackend:
    """Compiles for npu1: matmuls on the multiplier arrays of up to 16 cores, the rest in scalar code."""

    name = "builtin"
    SETTINGS = (
        KnownSetting("cores", "how many cores at most, or exactly which: RxC, rows and columns of them"),
        KnownSetting("tile", "the largest tile of a core: m,n,k"),
    )

    def __init__(self, settings: BackendSettings | None = None) -> None:
        """Raises UsageError for a setting that says nothing sensible, or flags, which no compiler takes."""
        settings = settings or BackendSettings()
        if settings.flags:
            raise UsageError(
                "backend builtin takes no --backend-flag",
                remedy="flags are for external compilers: --backend iree-amd-aie, --backend mlir-aie",
            )
        self._cores = settings.get("cores")
        self._grid = _numbers(self._cores, r"(\d+)x(\d+)")
        self._most = _numbers(self._cores, r"(\d+)")
        if self._cores is not None and not (self._grid or self._most):
            raise UsageError(f"cores is {self._cores!r}", remedy="for example cores=16 or cores=4x4")
        tile = settings.get("tile")
        self._tile = _numbers(tile, r"(\d+),(\d+),(\d+)")
        if tile is not None and not self._tile:
            raise UsageError(f"tile is {tile!r}", remedy="for example tile=64,64,96: rows, columns, inner")

    def compile(self, dispatch: Dispatch, *, options: CompileOptions) -> Artifact:
        """Raises UnsupportedOp for what it cannot lower."""
        if self._most:
            options = replace(options, cores=self._most[0])
        if self._grid:
            options = replace(options, grid=(self._grid[0], self._grid[1]))
        if self._tile:
            options = replace(options, tile=(self._tile[0], self._tile[1], self._tile[2]))
        return compile_dispatch(dispatch, options)

    def link(self, artifacts: Sequence[Artifact]) -> Sequence[Artifact]:
        """One xclbin with a kernel for each."""
        return link(artifacts)


def _numbers(text: str | None, form: str) -> tuple[int, ...]:
    """The numbers in a text of this form; none where it has another."""
    found = re.fullmatch(form, (text or "").strip(), re.ASCII)
    return tuple(map(int, found.groups())) if found else ()
