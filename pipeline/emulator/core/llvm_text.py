"""LLVM assembly as text: types, constants, values, and a list of lines to add to."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ...isa.semantics.value import Type, Value


@functools.cache
def llvm_type(type_: Type) -> str:
    return f"<{type_.lanes} x i{type_.width}>" if type_.is_vector else f"i{type_.width}"


def llvm_constant(type_: Type, numbers: tuple[int, ...]) -> str:
    if type_.is_vector:
        if not any(numbers):
            return "zeroinitializer"
        return "<" + ", ".join(f"i{type_.width} {_number(type_.width, n)}" for n in numbers) + ">"
    return _number(type_.width, numbers[0])


def _number(width: int, number: int) -> str:
    if width == 1:
        return "true" if number else "false"
    return str(number - (1 << width) if number >> (width - 1) else number)


@dataclass(frozen=True, slots=True)
class Operand:
    """An LLVM value. `number` is set where it is a scalar constant."""

    type: Type
    text: str
    number: int | None = None

    @property
    def typed(self) -> str:
        return f"{llvm_type(self.type)} {self.text}"


def literal(type_: Type, number: int) -> Operand:
    number &= type_.mask
    return Operand(type_, llvm_constant(type_, (number,) * type_.lanes), None if type_.is_vector else number)


class Names:
    """Fresh names, and what a whole module has beside its blocks."""

    def __init__(self) -> None:
        self._next = 0
        self.intrinsics: dict[str, str] = {}
        self.functions: dict[str, list[str]] = {}
        """Functions of the module beside the main one, by name."""

    def fresh(self, prefix: str = "v") -> str:
        self._next += 1
        return f"{prefix}{self._next}"


class Lines:
    """Lines of a function, and the LLVM values that they define."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def assign(self, type_: Type, text: str) -> Operand:
        name = "%" + self.names.fresh()
        self.lines.append(f"  {name} = {text}")
        return Operand(type_, name)

    def resize(self, value: Operand, type_: Type) -> Operand:
        if value.type == type_:
            return value
        if value.number is not None:
            return literal(type_, value.number)
        name = "trunc" if type_.width < value.type.width else "zext"
        return self.assign(type_, f"{name} {value.typed} to {llvm_type(type_)}")

    def shuffle(self, a: Operand, b: Operand | None, indices: tuple[int, ...]) -> Operand:
        if b is None and indices == tuple(range(a.type.lanes)):
            return a
        type_ = Type(a.type.width, len(indices))
        other = b.typed if b is not None else f"{llvm_type(a.type)} poison"
        mask = ", ".join(f"i32 {i}" for i in indices)
        return self.assign(type_, f"shufflevector {a.typed}, {other}, <{len(indices)} x i32> <{mask}>")

    def call(self, type_: Type, name: str, args: str, signature: str) -> Operand:
        self.names.intrinsics[name] = f"declare {llvm_type(type_)} @{name}({signature})"
        return self.assign(type_, f"call {llvm_type(type_)} @{name}({args})")


def constant_operand(node: Value) -> Operand:
    number = None if node.type.is_vector else node.numbers[0]
    return Operand(node.type, llvm_constant(node.type, node.numbers), number)
