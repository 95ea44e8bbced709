"""The built-in AIE2 backend: a dispatch to an xclbin and its instruction stream.

match     matching.py      what does the dispatch compute? (problem.py)
tile      tiling.py        which tile, in which form does each operand travel? (boxes.py, transfers.py)
lower     lowering.py      core program (matmul_program.py, fill_program.py), buffers, locks, BDs, tasks
configure configuration.py CDO commands (routes.py)
control   control.py       the instruction stream
package   packaging.py     PDI, core ELF, xclbin, listings
"""

from __future__ import annotations

from ..program import Artifact, Dispatch
from .lowering import lower
from .matching import match
from .options import CompileOptions
from .packaging import package

__all__ = ["CompileOptions", "compile_dispatch"]


def compile_dispatch(dispatch: Dispatch, options: CompileOptions) -> Artifact:
    """The artifact of one dispatch. Raises UnsupportedOp for what this backend cannot lower."""
    return package(dispatch, lower(match(dispatch), options.tile), options)
