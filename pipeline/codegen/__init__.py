"""The built-in AIE2 backend: a dispatch to an xclbin and its instruction stream.

normalise normal_form.py   the same with fewer kinds of op; sums of bf16 are kept in f32
match     matching.py      what does the dispatch compute? (problem.py)
tile      tiling.py        which tile, in which form does each operand travel? (boxes.py, transfers.py)
lower     lowering.py      core program (matmul_program.py, fill_program.py), buffers, locks, BDs, tasks
configure configuration.py CDO commands (routes.py)
control   control.py       the instruction stream
package   packaging.py     PDI, core ELF, xclbin, listings

What is fused after a contraction runs on each core's sums (array_epilogue.py). What is neither a contraction
nor a fill goes the general way, in scalar code on up to eight cores (stage_lanes.py):

stage     staging.py       linalg ops to loop nests over tensors (stages.py, expressions/)
tile      stage_tiling.py  which dimensions are the same (axes.py), tiles in memory (stage_forms.py)
          streaming.py     reductions of more than fits at once
lower     stage_lowering.py  the core's program (stage_program.py, stage_loops.py, stage_expression.py)
control   stage_control.py the instruction stream
"""

from __future__ import annotations

from ..errors import UnsupportedOp, UsageError
from ..npu.limits import COLUMNS
from ..npu.topology import COMPUTE_ROWS
from ..program import Artifact, Dispatch
from .lowering import Lowered, lower
from .matching import match
from .normal_form import normalised
from .options import CompileOptions
from .packaging import package
from .stage_lowering import lower_stages
from .staging import stage

__all__ = ["CompileOptions", "compile_dispatch"]

TARGET = "npu1"


def compile_dispatch(dispatch: Dispatch, options: CompileOptions) -> Artifact:
    """The artifact of one dispatch.

    Raises UnsupportedOp for what this backend cannot lower, UsageError for options that make no sense.
    """
    _check(options)
    return package(dispatch, _lowered(normalised(dispatch), options), options)


def _lowered(dispatch: Dispatch, options: CompileOptions) -> Lowered:
    """As one contraction or fill where it is one, else as stages."""
    try:
        return lower(match(dispatch), options.tile, cores=options.cores, grid=options.grid)
    except UnsupportedOp as reason:
        staged = stage(dispatch)
        if staged is None:
            raise
        found = lower_stages(staged, cores=options.cores, grid=options.grid)
        return Lowered(found.design, found.image, found.control, (*found.notes, f"not as one op: {reason}"))


def _check(options: CompileOptions) -> None:
    if options.target != TARGET:
        raise UsageError(f"the built-in backend compiles for {TARGET}, not {options.target!r}")
    if options.cores < 1:
        raise UsageError(
            f"at least one core is needed, not {options.cores}", remedy="for example --cores 4x4"
        )
    if options.tile and min(options.tile) < 1:
        sizes = ",".join(map(str, options.tile))
        raise UsageError(f"tile sizes are at least 1, not {sizes}", remedy="for example --tile 64,64,96")
    rows, columns = options.grid or (1, 1)
    if not (1 <= rows <= len(COMPUTE_ROWS) and 1 <= columns <= COLUMNS):
        raise UsageError(
            f"{TARGET} has {len(COMPUTE_ROWS)} rows and {COLUMNS} columns of cores, not {rows}x{columns}",
            remedy="for example --cores 4x4",
        )
