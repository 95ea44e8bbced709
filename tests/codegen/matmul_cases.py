"""Contractions of every kind as cases: what to compile, buffers to run it on, and what numpy says.

`tests/codegen/test_matmul_grid.py` runs a grid of small ones, `scripts/grid_matmul.py` the full one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from aiepipe import dtypes
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.program import Access, AffineResult, Dispatch

from .dispatches import DispatchBuilder, projected
from .emulation import Array, execute

FILL = 7
PAIRS = (("i8", "i8"), ("i16", "i16"), ("i16", "i8"), ("i8", "i16"), ("i32", "i32"), ("bf16", "bf16"))
KINDS = ("matmul", "batch", "matvec", "vecmat", "turned")

SHAPES = {
    "one": (1, 1, 1),
    "prime": (7, 11, 13),
    "tile-1": (15, 15, 15),
    "tile": (16, 16, 16),
    "tile+1": (17, 17, 17),
    "large": (72, 68, 100),
    "thin rows": (1, 64, 36),
    "thin columns": (52, 1, 40),
    "thin inner": (24, 28, 1),
    "long inner": (4, 8, 260),
}
"""Rows, columns, inner values. A tile is some multiple of 16 for all types; 260 inner values take several
steps."""


@dataclass(frozen=True, slots=True)
class Case:
    """One contraction. `transposed`: A is k x m, B is n x k. `accumulate`: sums begin with an argument, in
    place, else with FILL. `signed` tells how integers become wider."""

    kind: str
    pair: tuple[str, str]
    shape: tuple[int, int, int]
    accumulate: bool = False
    transposed: tuple[bool, bool] = (False, False)
    signed: tuple[bool, bool] = (True, True)

    def __str__(self) -> str:
        m, n, k = self.shape
        turned = "".join(name for name, turn in zip("AB", self.transposed, strict=True) if turn)
        unsigned = "".join(name for name, known in zip("AB", self.signed, strict=True) if not known)
        return (
            f"{self.kind} {self.pair[0]}x{self.pair[1]} {m}x{n}x{k}"
            + (" accumulate" if self.accumulate else " fill")
            + (f" {turned} transposed" if turned else "")
            + (f" {unsigned} unsigned" if unsigned else "")
        )

    @property
    def result(self) -> str:
        return "f32" if self.pair[0] == "bf16" else "i32"

    # ----------------------------------------------------------------- the dispatch

    @property
    def _dims(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The loops of A, B and C, as they are written; loops are (batch,) rows, columns, inner."""
        b, m, n, k = 0, 1, 2, 3
        left = (k, m) if self.transposed[0] else (m, k)
        right = (n, k) if self.transposed[1] else (k, n)
        match self.kind:
            case "batch":
                return (b, *left), (b, *right), (b, m, n)
            case "matvec":
                return left, (k,), (m,)
            case "vecmat":
                return (k,), right, (n,)
            case "turned":  # a generic whose result is n x m
                return left, right, (n, m)
            case _:
                return left, right, (m, n)

    def dispatch(self) -> Dispatch:
        dims = self._dims
        used = sorted({d for one in dims for d in one})
        sizes = (BATCH, *self.shape)
        loops = tuple(sizes[d] for d in used)

        def place(one: tuple[int, ...]) -> tuple[AffineResult, ...]:
            return projected(len(used), *(used.index(d) for d in one))

        builder = DispatchBuilder()
        left, right = (
            builder.operand(*(sizes[d] for d in one), element=element)
            for one, element in zip(dims, self.pair, strict=False)
        )
        shape = tuple(sizes[d] for d in dims[2])
        access = Access.READ_WRITE if self.accumulate else Access.WRITE
        target = builder.binding(*shape, element=self.result, access=access)
        start = builder.load(target) if self.accumulate else builder.filled(FILL, *shape, element=self.result)
        iterators = tuple("reduction" if d == 3 else "parallel" for d in used)
        total = builder.contraction(
            left, right, start, [place(one) for one in dims], loops, iterators, signed=self.signed
        )
        builder.store(total, target)
        return builder.done()

    # ----------------------------------------------------------------- the numbers

    def buffers(self, seed: int) -> list[Array]:
        """Operands over their whole range; floats are small integers, whose sums are exact in any order."""
        generator = np.random.default_rng(seed)
        found: list[Array] = []
        for binding in self.dispatch().bindings:
            dtype = dtypes.numpy_dtype(binding.type.element)
            if dtypes.is_float(binding.type.element):
                found.append(generator.integers(-15, 16, binding.type.shape).astype(dtype))
            else:
                limits = np.iinfo(dtype)
                found.append(
                    generator.integers(limits.min, limits.max, binding.type.shape, dtype=dtype, endpoint=True)
                )
        return found

    def expected(self, buffers: list[Array]) -> Array:
        """By numpy alone: integers modulo 2**32 (products and sums wrap in int64, which is the same)."""
        names = ["".join("bmnk"[d] for d in one) for one in self._dims]
        wide = [self._wide(array, known) for array, known in zip(buffers, (*self.signed, True), strict=True)]
        product = np.einsum(f"{names[0]},{names[1]}->{names[2]}", wide[0], wide[1])
        total = product + (wide[2] if self.accumulate else FILL)
        if self.result == "f32":
            return total.astype(np.float32)
        return total.astype(np.int64).astype(np.uint32).view(np.int32)

    @staticmethod
    def _wide(array: Array, signed: bool) -> Array:
        if array.dtype.kind not in "iu":
            return array.astype(np.float64)
        return (array if signed else array.view(np.dtype(f"u{array.dtype.itemsize}"))).astype(np.int64)


BATCH = 2


def check(case: Case, *, cores: int = 16, repeat: int = 1) -> None:
    """Compiles the case, runs it on the emulated array (twice with `repeat` 2: what is left behind shows),
    and compares exactly; operands must be as they were."""
    buffers = case.buffers(1)
    want = case.expected(buffers)
    artifact = compile_dispatch(case.dispatch(), CompileOptions(cores=cores))
    for run in execute(artifact, buffers, repeat=repeat).runs:
        np.testing.assert_array_equal(run[2], want, err_msg=str(case))
        for got, given in zip(run[:2], buffers, strict=False):
            np.testing.assert_array_equal(got.view(np.uint8), given.view(np.uint8), err_msg=str(case))


TURNS = tuple(itertools.product((False, True), (False, True)))


def grid(
    kinds: Iterable[str] = KINDS,
    pairs: Iterable[tuple[str, str]] = PAIRS,
    shapes: Iterable[tuple[int, int, int]] = tuple(SHAPES.values()),
) -> Iterator[Case]:
    """All combinations; a transposition of a vector is none, and neither is that of one row or column."""
    for kind, pair, shape, accumulate in itertools.product(kinds, pairs, shapes, (False, True)):
        for turn in TURNS:
            if (kind == "vecmat" and turn[0]) or (kind == "matvec" and turn[1]):
                continue
            yield Case(kind, pair, shape, accumulate, turn)
