"""The second opinion: IREE's llvm-cpu runs the same file on the same inputs.

IREE has silent faults of its own, so it never decides; where it differs from numpy, the report says so.
Needs the extra `oracle` (iree-base-runtime), found beside the running Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..iree_tools import call_function, compile_for_cpu
from ..program import SourceFunction, TensorType
from .source import SourceText

Array = npt.NDArray[Any]

ORACLES = ("numpy", "iree")
OPTION = "--oracle iree"


def iree_results(
    source: SourceText, function: SourceFunction, inputs: Sequence[Array], flags: Sequence[str]
) -> tuple[Array, ...]:
    """What IREE's CPU backend computes, one array per result.

    Raises UsageError where the tools are not installed or cannot take the types, CompileError where IREE
    fails.
    """
    module = compile_for_cpu(source.text, cpu="host", flags=flags, wanted_by=OPTION)
    arguments = [
        _argument(value.type, array, index in function.scalars)
        for index, (value, array) in enumerate(zip(function.arguments, inputs, strict=True))
    ]
    results = call_function(module, function.name, arguments, len(function.returns), wanted_by=OPTION)
    return tuple(
        dtypes.unpack(data, value.type.element, value.type.shape)
        for data, value in zip(results, function.returns, strict=True)
    )


def _argument(type_: TensorType, array: Array, scalar: bool) -> str | tuple[str, bytes]:
    if scalar:
        return str(np.asarray(array).item())
    return str(type_), dtypes.pack(array, type_.element)
