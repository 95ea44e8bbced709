"""A dispatch for the host's CPU, through IREE's llvm-cpu: what `--fallback cpu` does where a backend has no
lowering.

The dispatch's text reads and writes bindings; it becomes a function on tensors, one argument per binding, one
result per binding that it writes (a binding that is only written is an argument, too: what a dispatch does
not write stays as it was).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..errors import CompileError
from ..iree_tools import compile_for_cpu
from ..program import Attribute, CpuKernel, Dispatch, TensorOp

OPTION = "--fallback cpu"
FUNCTION = "dispatch"

CPU = "generic"
"""Not the host's own: a program directory holds the same bytes wherever it is made, and runs anywhere."""

_LOAD = "iree_tensor_ext.dispatch.tensor.load"
_STORE = "iree_tensor_ext.dispatch.tensor.store"
_FLAGS = ("--iree-input-demote-f64-to-f32=false",)

_LOAD_LINE = re.compile(rf"\s*(?P<value>%[\w$.-]+) = {re.escape(_LOAD)} .* -> (?P<type>tensor<.*>)\s*$")
_STORE_LINE = re.compile(
    rf"\s*{re.escape(_STORE)} (?P<value>%[\w$.-]+), .* : (?P<type>tensor<.*>) -> !iree_tensor_ext\.dispatch\."
)


def compile_for_host(dispatch: Dispatch, reason: str) -> CpuKernel:
    """The dispatch as a function of the CPU. Raises CompileError, UsageError where IREE is not installed."""
    module = compile_for_cpu(as_function(dispatch), cpu=CPU, flags=_FLAGS, wanted_by=OPTION)
    return CpuKernel(dispatch.name, FUNCTION, module, dispatch.bindings, reason)


def as_function(dispatch: Dispatch) -> str:
    """The dispatch as MLIR that stands by itself: `func.func @dispatch` on tensors.

    Raises CompileError for a dispatch whose sizes or values are passed at run time.
    """
    types = [f"tensor<{binding.type}>" for binding in dispatch.bindings]
    current = [f"%binding_{index}" for index in range(len(types))]
    written = [index for index, binding in enumerate(dispatch.bindings) if binding.access.writes]
    accesses = iter([op for op in dispatch.ops if op.name in (_LOAD, _STORE)])
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(current, types, strict=True))
    results = ", ".join(types[index] for index in written)
    lines = [f"func.func @{FUNCTION}({arguments}) -> ({results}) {{"]
    for line in _body(dispatch):
        if _LOAD in line:
            op, found = _access(dispatch, accesses, _LOAD_LINE, line)
            index = _binding(op)
            lines.append(
                f"  {found['value']} = tensor.extract_slice {current[index]}{_slice(op)} : "
                f"{types[index]} to {found['type']}"
            )
        elif _STORE in line:
            op, found = _access(dispatch, accesses, _STORE_LINE, line)
            index = _binding(op)
            made = f"%stored_{len(lines)}"
            lines.append(
                f"  {made} = tensor.insert_slice {found['value']} into {current[index]}{_slice(op)} : "
                f"{found['type']} into {types[index]}"
            )
            current[index] = made
        else:
            lines.append(line)
    lines.append(f"  return {', '.join(current[index] for index in written)} : {results}")
    return "\n".join([*lines, "}", ""])


def _body(dispatch: Dispatch) -> Iterator[str]:
    """The lines between the function's braces, without its bindings and its return."""
    for line in dispatch.text.strip().splitlines()[1:-1]:
        if "hal.interface.binding.subspan" in line or line.strip() == "return":
            continue
        if "hal.interface." in line or "tensor<?" in line or "x?" in line:
            raise _refused(dispatch, "a size or a value of it is passed at run time")
        yield line


def _access(
    dispatch: Dispatch, accesses: Iterator[TensorOp], form: re.Pattern[str], line: str
) -> tuple[TensorOp, re.Match[str]]:
    """The op that a line of the text stands for: both are in the same order."""
    op, found = next(accesses, None), form.match(line)
    if op is None or found is None or op.name not in line:
        raise _refused(dispatch, f"its text is not read: {line.strip()}")
    return op, found


def _binding(op: TensorOp) -> int:
    index = op.attributes["binding"]
    assert isinstance(index, int)
    return index


def _slice(op: TensorOp) -> str:
    return "".join(f" {_numbers(op.attributes[name])}" for name in ("offsets", "sizes", "strides"))


def _numbers(values: Attribute) -> str:
    assert isinstance(values, Sequence)
    return f"[{', '.join(map(str, values))}]"


def _refused(dispatch: Dispatch, why: str) -> CompileError:
    return CompileError(
        f"{OPTION} cannot compile {dispatch.name} by itself: {why}",
        location=dispatch.location,
        remedy="give static shapes, or another --backend",
    )
