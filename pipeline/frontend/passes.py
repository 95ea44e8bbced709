"""Small rewrites of the input module, through the bindings, before IREE compiles it.

They serve what the builtin pipeline cannot: calls are inlined for reading, scalar arguments become constants
(a kernel has no scalar arguments), functions that are not wanted are taken out, and a linalg op with an empty
loop becomes its init (IREE dies on it by SIGFPE in AnnotateDispatches; no iteration changes nothing).
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping
from typing import Any, cast

from . import mlir
from .affine import results, trip_counts
from .arithmetic import Number
from .mlir import Context, Operation
from .structured import is_structured

_FUNCTIONS = ("func.func", "util.func")
_CALLS = ("func.call", "util.call")


def inline_calls(module: Operation) -> Operation:
    """The module with calls inlined: itself where there are none, else a rewritten copy."""
    if not any(op.name in _CALLS for op in mlir.descendants(module)):
        return module
    managers = cast("Any", importlib.import_module("iree.compiler.passmanager"))
    copy = cast("Any", module).clone()
    managers.PassManager.parse("builtin.module(inline)", copy.context).run(copy.operation)
    return cast("Operation", copy.operation)


def keep_functions(module: Operation, names: Collection[str]) -> None:
    """Takes out the public functions that are not named; what another function calls becomes private."""
    called = {
        mlir.symbol_path(str(op.attributes["callee"]))[0]
        for op in mlir.descendants(module)
        if op.name in _CALLS
    }
    for op in mlir.children(module):
        if op.name not in _FUNCTIONS or not op.regions[0].blocks:
            continue
        name = mlir.string(op, "sym_name")
        if name in names:
            continue
        if name in called:
            mlir.make_private(op)
        elif (
            mlir.attribute(op, "sym_visibility") is None or str(op.attributes["sym_visibility"]) == '"public"'
        ):
            op.erase()


def specialise_scalars(function: Operation, values: Mapping[int, Number], context: Context) -> None:
    """Replaces arguments by constants and takes them off the function's type."""
    block = function.regions[0].blocks[0]
    type_ = mlir.function_type(function)
    inputs = list(type_.inputs)
    for index in sorted(values, reverse=True):
        constant = mlir.constant(block, attribute_text(values[index]), context)
        block.arguments[index].replace_all_uses_with(constant)
        block.erase_argument(index)
        del inputs[index]
    mlir.set_function_type(function, inputs, list(type_.results), context)
    mlir.drop_argument_attributes(function, set(values))


def attribute_text(value: Number) -> str:
    """The MLIR attribute with exactly these bits; floats as hexadecimal, for the sake of NaN payloads."""
    if value.element == "i1":
        return "true" if value.bits else "false"
    if value.element.startswith(("i", "s", "u")):
        return f"{value.signed} : {value.element}"
    return f"0x{value.bits:0{value.width // 4}X} : {value.element}"


def drop_empty_loops(module: Operation) -> None:
    """Replaces linalg ops that have a loop of zero iterations by their inits."""
    for op in mlir.descendants(module):
        if is_structured(op) and _has_empty_loop(op):
            inits = [*op.operands][len(op.operands) - len(op.results) :]
            for result, init in zip(op.results, inits, strict=True):
                result.replace_all_uses_with(init)
            op.erase()


def _has_empty_loop(op: Operation) -> bool:
    shapes: list[tuple[int, ...]] = []
    for operand in op.operands:
        shaped = mlir.shaped(operand.type)
        shapes.append(() if shaped is None else shaped[0])
    if not any(0 in shape for shape in shapes):
        return False
    found = mlir.indexing_maps(op) or []
    maps = [results(map_) for map_ in found]
    linear = [map_ for map_ in maps if map_ is not None]
    if not found or len(linear) != len(maps):
        return False
    loops = trip_counts(linear, shapes, found[0].n_dims)
    return loops is not None and 0 in loops
