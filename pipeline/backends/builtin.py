"""The built-in backend: AIE2 machine code with nothing but this package."""

from __future__ import annotations

from ..codegen import compile_dispatch
from ..codegen.options import CompileOptions
from ..program import Artifact, Dispatch


class BuiltinBackend:
    """Compiles for npu1: one core, scalar code."""

    name = "builtin"

    def compile(self, dispatch: Dispatch, *, options: CompileOptions) -> Artifact:
        """Raises UnsupportedOp for what it cannot lower."""
        return compile_dispatch(dispatch, options)
