"""What is to be compiled and run: the function that the user means and the arrays it is called with.

Scalar arguments become part of the program (a kernel's arguments are buffers only), so their values are
needed before anything is compiled.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from .. import dtypes
from ..errors import CompileError, UsageError
from ..frontend.compiler import Compiler
from ..program import RefusedFunction, SourceFunction, SourceModule, TensorType
from ..verdict import InputReport
from ..verify.values import load, random_inputs
from .source import SourceText

Array = npt.NDArray[Any]

DEFAULT_FUNCTION = "main"
_SEEDS = 1 << 31


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arrays for a function, one per argument; `seed` is None when none of them was drawn."""

    arrays: tuple[Array, ...]
    reports: tuple[InputReport, ...]
    seed: int | None


@dataclass(frozen=True, slots=True)
class Problem:
    """A function of a module. `scalars` are the arguments whose values become part of the program."""

    module: SourceModule
    function: SourceFunction
    scalars: Mapping[int, bytes]

    def arguments(self, inputs: Sequence[str], seed: int | None) -> Arguments:
        """Arrays for the function, which must be compilable: its types are static then. Raises UsageError."""
        types = [value.type for value in self.function.arguments]
        return make_arguments(self.function.name, types, inputs, seed)


def pose(compiler: Compiler, source: SourceText, *, function: str | None, inputs: Sequence[str]) -> Problem:
    """Reads the module and chooses the function; `inputs` are looked at only for the values of scalars.

    Raises CompileError (the module or the function cannot be read), UsageError (no such function, a
    scalar without a value).
    """
    module = compiler.parse(source.file, source.text)
    chosen = choose(module, function)
    if not chosen.scalars:
        return Problem(module, chosen, {})
    scalars = _scalar_values(chosen, inputs)
    module = compiler.parse(source.file, source.text, scalars={chosen.name: scalars})
    return Problem(module, choose(module, chosen.name), scalars)


def choose(module: SourceModule, name: str | None) -> SourceFunction:
    """The function called `name`; without a name the only one, or "main".

    Raises CompileError for one that was refused, UsageError where there is none or no telling which.
    """
    known = {f.name: f for f in module.functions}
    refused = {f.name: f for f in module.refused}
    names = [*known, *refused]
    if name is None:
        name = names[0] if len(names) == 1 else DEFAULT_FUNCTION
        if name not in names:
            raise UsageError(
                f"{module.file} has {len(names)} public functions",
                remedy=f"choose one with --function: {', '.join(names)}",
            )
    name = name.removeprefix("@")
    if name in refused:
        raise refusal(refused[name])
    if name not in known:
        raise UsageError(
            f"{module.file} has no public function {name!r}", remedy=f"it has: {', '.join(names)}"
        )
    return known[name]


def refusal(function: RefusedFunction) -> CompileError:
    """The error that a refused function stands for."""
    return CompileError(function.message, location=function.location, op=function.op, remedy=function.remedy)


def make_arguments(
    function: str, types: Sequence[TensorType], inputs: Sequence[str], seed: int | None
) -> Arguments:
    """Arrays from `--input` texts, or random ones. Raises UsageError for a wrong number or a wrong one."""
    names = [f"argument {i} of {function}" for i in range(len(types))]
    if inputs:
        check_count(function, "argument", [str(t) for t in types], inputs)
        arrays = tuple(load(text, t, name) for text, t, name in zip(inputs, types, names, strict=True))
        origins = list(inputs)
        used = None
    else:
        used = secrets.randbelow(_SEEDS) if seed is None else seed
        arrays = random_inputs(types, used)
        origins = [f"random, seed {used}"] * len(types)
    reports = tuple(
        InputReport(f"argument {i}", t, origin)
        for i, (t, origin) in enumerate(zip(types, origins, strict=True))
    )
    return Arguments(arrays, reports, used if types else None)


def check_count(function: str, what: str, types: Sequence[str], given: Sequence[str]) -> None:
    """Raises UsageError where not every argument or result has its text."""
    if len(given) != len(types):
        option = "--input" if what == "argument" else "--expected-output"
        raise UsageError(
            f"{function} has {len(types)} {what}s, but {option} was given {len(given)} times",
            remedy=f"give one for each, in order: {', '.join(types) or 'none'}",
        )


def _scalar_values(function: SourceFunction, inputs: Sequence[str]) -> dict[int, bytes]:
    types = [str(value.type) for value in function.arguments]
    if not inputs:
        raise UsageError(
            f"{function.name} takes scalars, which become part of the program",
            location=function.location,
            remedy=f"give every argument with --input, in order: {', '.join(types)}",
        )
    check_count(function.name, "argument", types, inputs)
    values: dict[int, bytes] = {}
    for index in function.scalars:
        type_ = function.arguments[index].type
        array = load(inputs[index], type_, f"argument {index} of {function.name}")
        values[index] = dtypes.pack(array, type_.element)
    return values
