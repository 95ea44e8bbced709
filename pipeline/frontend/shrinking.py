"""Smaller variants of a module, for the search of a minimal failing one. Runs in the worker process.

Each variant has one function and one change: an earlier value is returned, an op's result is replaced by
an operand of its type or by a new argument, only one of several results is returned. What is dead then is
taken out, unused arguments too. Whether a variant still fails is the caller's question; that it is valid
MLIR is checked here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, cast

from ..errors import CompileError
from .mlir import ir
from .nesting import check_nesting

_bindings = cast("Any", ir)
Change = Callable[[Any, Any], None]  # the entry block, a new value's location


def variants(file: str, text: str, function: str | None) -> list[str]:
    """Texts of valid smaller modules, the largest cuts first; none where there is nothing to cut.

    `function` None is the only one. Raises CompileError for a text that MLIR refuses.
    """
    check_nesting(file, text)
    found: dict[str, None] = {}
    for change in _changes(file, text, function):
        with contextlib.suppress(_bindings.MLIRError, CompileError):
            found.setdefault(_changed(file, text, function, change))
    found.pop(_changed(file, text, function, lambda _block, _where: None), None)
    return sorted(found, key=lambda variant: (_op_count(variant), len(variant)))


def _changes(file: str, text: str, function: str | None) -> Iterator[Change]:
    """Every single change, by the positions of ops and values in the block."""
    with _bindings.Context():
        module, block = _function(file, text, function)
        ops = [op.operation for op in block.operations]
        results = [(i, len(op.results)) for i, op in enumerate(ops[:-1]) if len(op.results)]
        returned = len(ops[-1].operands)
        operands = [
            (i, j)
            for i, op in enumerate(ops[:-1])
            if len(op.results) == 1
            for j, operand in enumerate(op.operands)
            if str(operand.type) == str(op.results[0].type)
        ]
        tensors = [i for i, op in enumerate(ops[:-1]) if any(_is_tensor(r) for r in op.results)]
        del module
    yield lambda _block, _where: None
    if returned > 1:
        yield from (_return_one(i) for i in range(returned))
    yield from (_return_results(i) for i, _ in results if i in tensors)
    yield from (_use_operand(i, j) for i, j in operands)
    yield from (_use_argument(i) for i in tensors)


def _changed(file: str, text: str, function: str | None, change: Change) -> str:
    """The module's text after the change, dead ops and unused arguments taken out."""
    with _bindings.Context(), _bindings.Location.unknown() as where:
        module, block = _function(file, text, function)
        change(block, where)
        _take_out_dead(block)
        owner = block.owner
        inputs = [argument.type for argument in block.arguments]
        results = [operand.type for operand in _ops(block)[-1].operands]
        owner.attributes["function_type"] = _bindings.TypeAttr.get(
            _bindings.FunctionType.get(inputs, results)
        )
        module.operation.verify()
        return str(module)


def _function(file: str, text: str, name: str | None) -> tuple[Any, Any]:
    """The module without its other functions, and the entry block of the one."""
    try:
        module = _bindings.Module.parse(text)
    except _bindings.MLIRError as error:
        raise CompileError(str(error).splitlines()[0], location=file) from None
    functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
    bodies = [op for op in functions if len(op.regions[0].blocks) == 1]
    wanted = [op for op in bodies if name is None or op.attributes["sym_name"].value == name]
    if len(wanted) != 1:
        raise CompileError(f"there is no one function {name or ''} of one block to shrink", location=file)
    for op in bodies:
        if op is not wanted[0] and not _is_called(op, module):
            op.erase()
    return module, wanted[0].regions[0].blocks[0]


def _is_called(function: Any, module: Any) -> bool:
    name = f"@{function.attributes['sym_name'].value}"
    return any(name in str(op.attributes) for op in _below(module.operation) if "call" in op.name)


def _below(op: Any) -> Iterator[Any]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from _below(inner.operation)


# --------------------------------------------------------------------------- changes


def _return_one(index: int) -> Change:
    return lambda block, where: _return(block, where, [_ops(block)[-1].operands[index]])


def _return_results(index: int) -> Change:
    return lambda block, where: _return(block, where, list(_ops(block)[index].results))


def _use_operand(index: int, operand: int) -> Change:
    def change(block: Any, _: Any) -> None:
        op = _ops(block)[index]
        op.results[0].replace_all_uses_with(op.operands[operand])

    return change


def _use_argument(index: int) -> Change:
    def change(block: Any, where: Any) -> None:
        for result in _ops(block)[index].results:
            result.replace_all_uses_with(block.add_argument(result.type, where))

    return change


def _return(block: Any, where: Any, values: list[Any]) -> None:
    old = _ops(block)[-1]
    new = _bindings.Operation.create("func.return", operands=values, loc=where)
    block.append(new)
    old.erase()


def _take_out_dead(block: Any) -> None:
    for op in reversed(_ops(block)[:-1]):
        if op.results and not any(_is_used(result) for result in op.results):
            op.erase()
    for index in reversed(range(len(block.arguments))):
        if not _is_used(block.arguments[index]):
            block.erase_argument(index)


def _is_used(value: Any) -> bool:
    return next(iter(value.uses), None) is not None


def _is_tensor(value: Any) -> bool:
    return str(value.type).startswith("tensor<")


def _ops(block: Any) -> list[Any]:
    return [op.operation for op in block.operations]


def _op_count(text: str) -> int:
    return sum(" = " in line for line in text.splitlines())
