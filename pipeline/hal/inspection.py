"""`inspect`: every fill, copy and update of a program's HAL IR, and the fate of each fill of its source.

Whoever greps for `fill_buffer` misses half of them: a fill alone is a queue operation, often hoisted to
start-up; a pattern wider than 4 bytes is a dispatch of a builtin; patterns are narrowed (bf16 1.5 is the i16
0x3FC0) and targets are slots of a command buffer that is recorded elsewhere. The IR is walked in the worker
process (`phases`), this module is what the parent imports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from ..frontend.compiler import Compiler
from ..verdict import Inspection

INSPECT = "aiepipe.hal.phases:inspect_module"


def inspect(
    compiler: Compiler,
    file: str,
    text: str,
    *,
    flags: Sequence[str] = (),
    scalars: Mapping[str, Mapping[int, bytes]] | None = None,
    functions: Sequence[str] | None = None,
) -> Inspection:
    """Compiles the file to IREE's phase hal with these flags and says what it does to buffers.

    Scalar arguments without a value in `scalars` stay open: what depends on them is None. `functions`
    restricts the file to some of its public functions. Raises CompileError, UsageError.
    """
    return cast(
        "Inspection",
        compiler.answer(
            INSPECT,
            file=file,
            text=text,
            flags=list(flags),
            scalars=scalars or {},
            functions=None if functions is None else list(functions),
        ),
    )
