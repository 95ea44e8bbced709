"""What the built-in backend lowers, freed from MLIR: loops, operands as strided views of buffers.

`matching.py` makes these from a dispatch; tiling, core programs and control code know nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..program import SourceLocation
from .expressions.bodies import BodyGraph
from .vector_lanes import LanesBody


@dataclass(frozen=True, slots=True)
class View:
    """A tensor inside a buffer: element (i0, i1, ...) stands at `base + sum(i * strides)` elements.

    `element_bytes` is the size in memory; `signed` says how an element becomes wider; `buffer_bytes` is
    the size of the whole buffer behind it, which transfers must not leave. The buffer is `binding`, or,
    where that is None, a constant of the dispatch with the bytes `data`.
    """

    binding: int | None
    element: str
    element_bytes: int
    buffer_bytes: int
    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    signed: bool = True
    data: bytes | None = None

    @property
    def contiguous(self) -> bool:
        """Whether the elements stand one after another, row major."""
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True


@dataclass(frozen=True, slots=True)
class Operand:
    """A view in terms of the loops: `strides[d]` elements per step of loop d, 0 where it does not vary."""

    view: View
    strides: tuple[int, ...]

    @property
    def element_bytes(self) -> int:
        return self.view.element_bytes

    @property
    def resident(self) -> bool:
        """Whether it is a constant: with the program in the core's memory, never transferred."""
        return self.view.data is not None

    def stride_bytes(self, loop: int) -> int:
        """Bytes from one element to the next along `loop`."""
        return self.strides[loop] * self.view.element_bytes


@dataclass(frozen=True, slots=True)
class Constant:
    """An initial value that is the same for all elements; `value` is signed, of the result's width."""

    value: int


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What becomes of each sum before it is stored: `body` of the arguments, which are the sum (number
    `total`), operands in terms of the contraction's loops, the bytes of one element, or None where they are
    not needed. `lanes` is the body in vector code, where there is such."""

    op: str
    body: BodyGraph
    total: int
    arguments: tuple[Operand | bytes | None, ...]
    lanes: LanesBody | None = None

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Those that come from memory."""
        return tuple(argument for argument in self.arguments if isinstance(argument, Operand))


@dataclass(frozen=True, slots=True)
class Contraction:
    """result[parallel loops] = initial + sum over the reduction loops of left * right, modulo 2**32.

    `loops` are trip counts; `reduction[d]` tells the two kinds apart. `row` and `column` are the parallel
    loops that tiles cover and `inner` the reduction loop: `column` does not move `left` and `row` does not
    move `right`. All other loops are outer ones, done one value at a time.
    """

    op: str
    location: SourceLocation
    loops: tuple[int, ...]
    reduction: tuple[bool, ...]
    row: int
    column: int
    inner: int
    left: Operand
    right: Operand
    result: Operand
    initial: Constant | Operand
    epilogue: Epilogue | None = None

    @property
    def in_place(self) -> bool:
        """Whether the incoming accumulator is the very buffer that the result goes to."""
        return isinstance(self.initial, Operand) and self.initial.view.binding == self.result.view.binding

    @property
    def clobbers_operand(self) -> bool:
        """Whether the result is written over a buffer that an operand is read from."""
        target = self.result.view.binding
        further = () if self.epilogue is None else self.epilogue.operands
        return target in (operand.view.binding for operand in (self.left, self.right, *further))

    def transposed(self) -> Contraction:
        """The same contraction with the parts of rows and columns, left and right exchanged."""
        return Contraction(
            op=self.op,
            location=self.location,
            loops=self.loops,
            reduction=self.reduction,
            row=self.column,
            column=self.row,
            inner=self.inner,
            left=self.right,
            right=self.left,
            result=self.result,
            initial=self.initial,
            epilogue=self.epilogue,
        )


@dataclass(frozen=True, slots=True)
class Fill:
    """`pattern` (the bytes of one element) repeated over `count` elements from `offset_bytes`."""

    op: str
    location: SourceLocation
    binding: int
    offset_bytes: int
    count: int
    pattern: bytes

    @property
    def size_bytes(self) -> int:
        return self.count * len(self.pattern)


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing to do: an empty result, or an accumulator to which no products are added."""

    op: str
    location: SourceLocation


Problem = Contraction | Fill | Nothing
