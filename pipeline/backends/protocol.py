"""What every backend offers: one dispatch in, one artifact out."""

from __future__ import annotations

from typing import Protocol

from ..codegen.options import CompileOptions
from ..program import Artifact, Dispatch

__all__ = ["Backend", "CompileOptions"]


class Backend(Protocol):
    """A compiler of dispatches. `name` is what `--backend` takes."""

    @property
    def name(self) -> str: ...

    def compile(self, dispatch: Dispatch, *, options: CompileOptions) -> Artifact:
        """Raises CompileError (UnsupportedOp for an op without a lowering), UsageError for an option."""
        ...
