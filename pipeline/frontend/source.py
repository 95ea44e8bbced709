"""The user's functions, before any pass, as a `SourceModule`; which of them cannot be compiled, and why.

A function that we must refuse (memrefs, a dynamic shape, a scalar whose value is not given) does not spoil
the others of its file: it is listed with its reason. A file without any public function is an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from .. import dtypes
from ..errors import CompileError
from ..program import RefusedFunction, SourceFunction, SourceLocation, SourceModule, TensorType, Value
from . import mlir
from .arithmetic import Number, bit_width
from .location import place
from .mlir import Operation
from .passes import inline_calls, specialise_scalars
from .reading import OpReader
from .session import Session

Scalars = Mapping[str, Mapping[int, bytes]]

_FUNCTIONS = ("func.func", "util.func")
_RETURNS = ("func.return", "util.return")


def public_functions(module: Operation) -> list[Operation]:
    """Functions that a caller can name: public and with a body."""
    found: list[Operation] = []
    for op in mlir.children(module):
        visibility = mlir.attribute(op, "sym_visibility")
        public = visibility is None or str(visibility) == '"public"'
        if op.name in _FUNCTIONS and public and len(op.regions[0].blocks) > 0:
            found.append(op)
    return found


def read_source(session: Session, scalars: Scalars) -> SourceModule:
    """All public functions, with these values for scalar arguments.

    A size that no value fixes is -1 in the types. Raises CompileError where no public function has a body.
    """
    module = inline_calls(session.module)
    functions: list[SourceFunction] = []
    refused: list[RefusedFunction] = []
    operations = public_functions(module)
    for op in operations:
        name = mlir.string(op, "sym_name")
        try:
            functions.append(_read_function(op, session, scalars.get(name, {})))
        except CompileError as error:
            refused.append(refusal(name, error, session.file))
    if not operations:
        raise CompileError(
            "there is no public function with a body: nothing to compile",
            location=session.file,
            remedy="define a function, e.g. func.func @main(...) -> ... { ... }",
        )
    return SourceModule(session.file, session.text, tuple(functions), tuple(refused))


def refusal(name: str, error: CompileError, file: str) -> RefusedFunction:
    """The error about one function, as data."""
    location = error.location if isinstance(error.location, SourceLocation) else SourceLocation(file, 0, 0)
    return RefusedFunction(name, error.message, location, error.op, error.remedy)


def not_compilable(function: SourceFunction, scalars: Mapping[int, bytes]) -> CompileError | None:
    """Why a function that could be read cannot be compiled: an open scalar, or a dynamic shape."""
    for index, argument in enumerate(function.arguments):
        if -1 in argument.type.shape:
            return CompileError(
                f"argument {index} of @{function.name} has the dynamic type {show_type(argument.type)}",
                location=function.location,
                op="func.func",
                remedy="shapes must be static: write the sizes that you want to run",
            )
    for index, argument in enumerate(function.arguments):
        if not argument.type.shape and index in function.scalars and index not in scalars:
            return CompileError(
                f"argument {index} of @{function.name} is a scalar ({argument.type.element}) "
                "and its value is not given",
                location=function.location,
                op="func.func",
                remedy="a scalar becomes part of the program: give its value with --input",
            )
    for op in function.ops:
        for result in op.results:
            if -1 in result.type.shape:
                return CompileError(
                    f"{op.name} has the dynamic type {show_type(result.type)}",
                    location=op.location,
                    op=op.name,
                    remedy="shapes must be static, or follow from constants and scalar arguments",
                )
    return None


def specialise(session: Session, source: SourceModule, scalars: Scalars) -> None:
    """Makes the given scalar arguments constants in the session's module."""
    types = {f.name: f.arguments for f in source.functions}
    for op in public_functions(session.module):
        name = mlir.string(op, "sym_name")
        given = scalars.get(name, {})
        numbers = {
            index: Number(int.from_bytes(data, "little"), types[name][index].type.element)
            for index, data in given.items()
            if name in types
        }
        if numbers:
            specialise_scalars(op, numbers, session.context)


def show_type(type_: TensorType) -> str:
    """The type as MLIR writes it, with ? for an unknown size."""
    dims = "".join("?x" if dim == -1 else f"{dim}x" for dim in type_.shape)
    return f"tensor<{dims}{type_.element}>"


def _read_function(op: Operation, session: Session, scalars: Mapping[int, bytes]) -> SourceFunction:
    reader = OpReader(session.file, session.context)
    name = mlir.string(op, "sym_name")
    location = place(op, session.file)
    blocks = mlir.blocks(op)
    if len(blocks) != 1:
        raise reader.refusal(
            f"@{name} has control flow between blocks: only straight-line code is read",
            op,
            "write it with scf.if, scf.for or scf.while",
        )
    block, body = next(iter(blocks.items()))
    arguments: list[Value] = []
    scalar_arguments: list[int] = []
    for index, argument in enumerate(block.arguments):
        type_ = _argument_type(argument, index, op, reader)
        value = Value(f"%arg{index}", type_)
        arguments.append(value)
        reader.bind(argument, value)
        if mlir.shaped(argument.type) is None:
            scalar_arguments.append(index)
        if index in scalars:
            reader.know(argument, _scalar_number(scalars[index], value, op, reader), location)
    for inner in body[:-1]:
        reader.read(inner)
    last = body[-1]
    if last.name not in _RETURNS:
        raise reader.refusal(f"@{name} ends with {last.name}, which is not read", last)
    returns = tuple(reader.use(value) for value in last.operands)
    return SourceFunction(
        name, tuple(arguments), tuple(reader.ops), returns, location, tuple(scalar_arguments)
    )


def _argument_type(argument: mlir.Value, index: int, op: Operation, reader: OpReader) -> TensorType:
    shaped = mlir.shaped(argument.type)
    shape, element = ((), str(argument.type)) if shaped is None else shaped
    if dtypes.is_known(element):
        return TensorType(shape, element)
    name = mlir.string(op, "sym_name")
    memref = element.startswith("memref")
    raise reader.refusal(
        f"argument {index} of @{name} has the type {argument.type}: "
        + ("memref arguments are not supported" if memref else "only integers and floats are supported"),
        op,
        "use tensors: IREE drops ops on memref arguments without a word" if memref else None,
    )


def _scalar_number(data: bytes, argument: Value, op: Operation, reader: OpReader) -> Number:
    width = bit_width(argument.type.element)
    if width is None or argument.type.shape or len(data) != -(-width // 8):
        raise reader.refusal(
            f"a value of {len(data)} bytes is given for the scalar argument {argument.id} of type "
            f"{show_type(argument.type)}",
            op,
        )
    return Number(int.from_bytes(data, "little") & ((1 << width) - 1), argument.type.element)
