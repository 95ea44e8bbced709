"""The abstract values that instruction meanings are written over: typed data-flow nodes.

A `Value` is a node of a graph: what it computes, from which values, and of which type. Nothing is
evaluated here; the engines do that (plainly, or through LLVM), so every operation must be total and
exact: integers of a stated width that wrap, vectors lane by lane. Floats are bit patterns; their
arithmetic is written out in integers, as the chip's is not IEEE 754's.

Operations (all lane-wise unless said otherwise; shifts take any unsigned amount, an amount of the width
or more gives zero, or the sign for `ashr`):

    constant read load received                     leaves
    add sub mul and or xor shl lshr ashr            same type in and out
    eq ne ult ule slt sle                           result: lanes of 1 bit
    select                                          condition: one bit, or one per lane
    zext sext trunc                                 per lane
    clz                                             leading zeros, the width for zero
    bitcast                                         same bits, other lanes (lane 0 lowest)
    splat shuffle extract insert                    lanes; shuffle takes constant indices into (a, b)
    choose                                          by the value of its first argument, see `Value.choose`
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """`lanes` integers of `width` bits; a scalar has one lane."""

    width: int
    lanes: int = 1

    @property
    def bits(self) -> int:
        return self.width * self.lanes

    @property
    def is_vector(self) -> bool:
        return self.lanes > 1

    @property
    def mask(self) -> int:
        """All ones of one lane."""
        return (1 << self.width) - 1

    def with_width(self, width: int) -> Type:
        return Type(width, self.lanes)

    def __str__(self) -> str:
        return f"{self.lanes}xi{self.width}" if self.is_vector else f"i{self.width}"


I1 = Type(1)
I8 = Type(8)
I16 = Type(16)
I20 = Type(20)
I32 = Type(32)
I64 = Type(64)


@dataclass(frozen=True, slots=True)
class RegisterRead:
    """A register as it stands at the node's stage; `bypass` names the forwarding path that it may use."""

    register: str
    bypass: str


@dataclass(frozen=True, slots=True)
class Choice:
    """What a `choose` node does: `build(key, arguments)`, which must be pure and of the node's type.

    Two choices are the same when their names are, so that a built graph can be kept for each key.
    """

    name: str
    build: Callable[[int, tuple[Value, ...]], Value]
    accepts: Callable[[int], bool]
    """Whether a key means something; for others `build` raises UndefinedMode."""
    expects: Callable[[int], bool]
    """Whether a key is worth preparing for when a program has the number somewhere."""


class Value:
    """One node. Build them with the operators and methods; compare nodes by identity."""

    __slots__ = ("args", "choice", "name", "numbers", "read", "serial", "stage", "type")

    _count = itertools.count()

    def __init__(
        self,
        name: str,
        type_: Type,
        args: tuple[Value, ...] = (),
        *,
        numbers: tuple[int, ...] = (),
        read: RegisterRead | None = None,
        choice: Choice | None = None,
        stage: int | None = None,
    ) -> None:
        self.name = name
        self.type = type_
        self.args = args
        self.numbers = numbers
        """Constant lanes, shuffle indices, or the index of a received value."""
        self.read = read
        self.choice = choice
        self.serial = next(self._count)
        self.stage = max((a.stage for a in args), default=0) if stage is None else stage
        """The stage of the instruction in which it is computed (an index, not a time)."""

    def __repr__(self) -> str:
        detail = self.read.register if self.read else ",".join(map(str, self.numbers[:8]))
        return f"{self.type}:{self.name}({detail}{' ' if detail else ''}{', '.join(map(repr, self.args))})"

    # Arithmetic. An int stands for a constant of the other side's type.

    def __add__(self, other: Value | int) -> Value:
        return self._same("add", other)

    def __sub__(self, other: Value | int) -> Value:
        return self._same("sub", other)

    def __mul__(self, other: Value | int) -> Value:
        return self._same("mul", other)

    def __and__(self, other: Value | int) -> Value:
        return self._same("and", other)

    def __or__(self, other: Value | int) -> Value:
        return self._same("or", other)

    def __xor__(self, other: Value | int) -> Value:
        return self._same("xor", other)

    def __invert__(self) -> Value:
        return self ^ self.type.mask

    def __neg__(self) -> Value:
        return constant(self.type, 0) - self

    def shl(self, amount: Value | int) -> Value:
        return self._same("shl", amount)

    def lshr(self, amount: Value | int) -> Value:
        return self._same("lshr", amount)

    def ashr(self, amount: Value | int) -> Value:
        return self._same("ashr", amount)

    def clz(self) -> Value:
        return Value("clz", self.type, (self,))

    # Comparison: one bit per lane.

    def eq(self, other: Value | int) -> Value:
        return self._compare("eq", other)

    def ne(self, other: Value | int) -> Value:
        return self._compare("ne", other)

    def ult(self, other: Value | int) -> Value:
        return self._compare("ult", other)

    def ule(self, other: Value | int) -> Value:
        return self._compare("ule", other)

    def slt(self, other: Value | int) -> Value:
        return self._compare("slt", other)

    def sle(self, other: Value | int) -> Value:
        return self._compare("sle", other)

    def select(self, yes: Value | int, no: Value | int) -> Value:
        """`yes` where this bit is set, else `no`; one of the two may be an int."""
        if isinstance(yes, int):
            if isinstance(no, int):
                raise TypeError("select needs the type of one side")
            yes = constant(no.type, yes)
        no = yes.coerce(no)
        if self.type.width != 1 or self.type.lanes not in (1, yes.type.lanes):
            raise TypeError(f"select by {self.type} of {yes.type}")
        return Value("select", yes.type, (self, yes, no))

    # Width and lanes.

    def zext(self, width: int) -> Value:
        return self._resize("zext", width)

    def sext(self, width: int) -> Value:
        return self._resize("sext", width)

    def trunc(self, width: int) -> Value:
        return self._resize("trunc", width)

    def extend(self, width: int, *, signed: bool) -> Value:
        return self.sext(width) if signed else self.zext(width)

    def bitcast(self, type_: Type) -> Value:
        if type_.bits != self.type.bits:
            raise TypeError(f"bitcast of {self.type} to {type_}")
        return self if type_ == self.type else Value("bitcast", type_, (self,))

    def lanes(self, width: int) -> Value:
        """The same bits as lanes of `width` bits."""
        return self.bitcast(Type(width, self.type.bits // width))

    def splat(self, lanes: int) -> Value:
        if self.type.is_vector:
            raise TypeError(f"splat of {self.type}")
        return self if lanes == 1 else Value("splat", Type(self.type.width, lanes), (self,))

    def shuffle(self, indices: Sequence[int], other: Value | None = None) -> Value:
        """Lanes by constant index; `other`'s lanes count on from this one's."""
        sources = (self,) if other is None else (self, other)
        total = sum(source.type.lanes for source in sources)
        if not self.type.is_vector or not all(0 <= i < total for i in indices):
            raise TypeError(f"shuffle of {self.type} by {tuple(indices)}")
        if other is not None and other.type != self.type:
            raise TypeError(f"shuffle of {self.type} and {other.type}")
        type_ = Type(self.type.width, len(indices))
        if len(indices) == 1:
            source, index = divmod(indices[0], self.type.lanes)
            return sources[source].extract(index)
        return Value("shuffle", type_, sources, numbers=tuple(indices))

    def extract(self, index: Value | int) -> Value:
        """One lane; an index that is no lane gives what its low bits say (lanes are a power of two)."""
        where = constant(I32, index) if isinstance(index, int) else index
        return Value("extract", Type(self.type.width), (self, where))

    def insert(self, index: Value | int, lane: Value) -> Value:
        """This vector with one lane replaced; indices as in `extract`."""
        where = constant(I32, index) if isinstance(index, int) else index
        if lane.type != Type(self.type.width):
            raise TypeError(f"insert of {lane.type} into {self.type}")
        return Value("insert", self.type, (self, where, lane))

    def concat(self, other: Value) -> Value:
        """This one in the low half, `other` in the high half."""
        if not self.type.is_vector:
            low, high = self.zext(self.type.width * 2), other.zext(self.type.width * 2)
            return low | high.shl(self.type.width)
        return self.shuffle(range(2 * self.type.lanes), other)

    def part(self, index: int, parts: int) -> Value:
        """The `index`-th of `parts` equal runs of lanes."""
        size = self.type.lanes // parts
        return self.shuffle(range(index * size, (index + 1) * size))

    def choose(self, choice: Choice, type_: Type, args: tuple[Value, ...]) -> Value:
        """`choice.build` for the value that this scalar has when it runs.

        For what an instruction reads from a register and would otherwise decode in hardware: a mode
        word, a rounding mode. An engine may build the graph for each key it meets.
        """
        return Value("choose", type_, (self, *args), choice=choice)

    # Building blocks of the above.

    def coerce(self, other: Value | int) -> Value:
        """`other` as a value of this type: an int becomes a constant in every lane, a scalar a splat."""
        if isinstance(other, int):
            return constant(self.type, other)
        if other.type == self.type:
            return other
        if other.type == Type(self.type.width):
            return other.splat(self.type.lanes)
        raise TypeError(f"{other.type} where {self.type} is needed")

    def _same(self, name: str, other: Value | int) -> Value:
        return Value(name, self.type, (self, self.coerce(other)))

    def _compare(self, name: str, other: Value | int) -> Value:
        return Value(name, self.type.with_width(1), (self, self.coerce(other)))

    def _resize(self, name: str, width: int) -> Value:
        if width == self.type.width:
            return self
        if (name == "trunc") != (width < self.type.width):
            raise TypeError(f"{name} of {self.type} to {width} bits")
        if self.name == "constant":  # kept a constant: translation looks for those
            sign = self.type.mask + 1
            extended = [n - sign if name == "sext" and n >= sign >> 1 else n for n in self.numbers]
            return constant(self.type.with_width(width), extended)
        return Value(name, self.type.with_width(width), (self,))


def constant(type_: Type, value: int | Sequence[int]) -> Value:
    """The same number in every lane, or one for each."""
    lanes = [value] * type_.lanes if isinstance(value, int) else list(value)
    if len(lanes) != type_.lanes:
        raise TypeError(f"{len(lanes)} numbers for {type_}")
    return Value("constant", type_, numbers=tuple(lane & type_.mask for lane in lanes))


def concat(parts: Sequence[Value]) -> Value:
    """All the parts' lanes in a row; a power of two of them, of one type."""
    joined = list(parts)
    while len(joined) > 1:
        joined = [a.concat(b) for a, b in zip(joined[::2], joined[1::2], strict=True)]
    return joined[0]
