"""Each mistake is made by hand, with numpy, and must be the first explanation; a right result has none."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from aiepipe import dtypes
from aiepipe.program import TensorType
from aiepipe.verdict import Diagnosis, EventKind, HostEvent, Likelihood
from aiepipe.verify.case import Case
from aiepipe.verify.comparison import compare, poison_array
from aiepipe.verify.diagnosis import diagnose
from aiepipe.verify.reference import reference
from aiepipe.verify.rounding import rounded, stored
from aiepipe.verify.statistics import outcome, summarise

from .source import Source, filled_matmul

Array = npt.NDArray[Any]
POISON = b"\xa5" * 16
M, N, K = 64, 64, 128
TYPE = TensorType((M, N), "i32")


def draw(seed: int, *shape: int, limit: int = 100) -> npt.NDArray[np.int32]:
    return np.random.default_rng(seed).integers(-limit, limit, shape).astype(np.int32)


A, B = draw(1, M, K), draw(2, K, N)
RIGHT = A @ B + 7


def seed_case(got: Array, **more: Any) -> Case:
    """7 + A @ B in i32, with this result."""
    function = filled_matmul(M, N, K, struct.pack("<i", 7))
    return Case(
        "result 0", TYPE, got.astype(np.int32), RIGHT, poison=POISON, function=function, inputs=[A, B], **more
    )


def first(case: Case) -> Diagnosis:
    found = diagnose(case)
    assert found, "no diagnosis"
    return found[0]


def with_lines(*lines: int, hold: Array) -> Array:
    """RIGHT with some 64-byte lines (16 elements) of another array."""
    got = RIGHT.copy()
    for line in lines:
        got.reshape(-1)[line * 16 : line * 16 + 16] = hold.reshape(-1)[line * 16 : line * 16 + 16]
    return got


POISONED = poison_array(POISON, TYPE)


def test_a_right_result_has_no_diagnosis() -> None:
    assert diagnose(seed_case(RIGHT)) == ()


# ------------------------------------------------------------------ the host's cache


def log(*kinds: EventKind) -> tuple[HostEvent, ...]:
    return tuple(HostEvent(i, 1, kind, "result 0", 0, TYPE.size_bytes) for i, kind in enumerate(kinds))


UNSYNCED = log(EventKind.WRITE, EventKind.START, EventKind.WAIT, EventKind.SYNC_FROM)
SYNCED = log(EventKind.WRITE, EventKind.SYNC_TO, EventKind.START, EventKind.WAIT, EventKind.SYNC_FROM)
NOT_READ_BACK = log(EventKind.WRITE, EventKind.SYNC_TO, EventKind.START, EventKind.WAIT)


@pytest.mark.parametrize(
    ("events", "likelihood", "says"),
    [
        ((), Likelihood.LIKELY, "wrong lines of 64 bytes: 2 of 256"),
        (UNSYNCED, Likelihood.CERTAIN, "the run log has no sync to the device"),
        (SYNCED, Likelihood.POSSIBLE, "the run log has a sync to the device"),
    ],
)
def test_dirty_host_lines(events: tuple[HostEvent, ...], likelihood: Likelihood, says: str) -> None:
    told = first(seed_case(with_lines(3, 77, hold=POISONED), events=events, buffer="result 0"))
    assert (told.rule, told.likelihood) == ("dirty-host-lines", likelihood)
    assert told.sentence == (
        "wrong elements fill whole 64-byte lines of the buffer and hold the poison the host wrote before the "
        "run: dirty host cache lines written back over the device's result"
    )
    assert any(says in fact for fact in told.evidence)


def test_a_partial_sync_leaves_the_rest_dirty() -> None:
    half = (
        HostEvent(0, 1, EventKind.WRITE, "result 0", 0, TYPE.size_bytes),
        HostEvent(1, 1, EventKind.SYNC_TO, "result 0", 0, TYPE.size_bytes // 2),
        HostEvent(2, 1, EventKind.START, "kernel", 0, 0),
    )
    told = first(seed_case(with_lines(200, hold=POISONED), events=half, buffer="result 0"))
    assert (told.rule, told.likelihood) == ("dirty-host-lines", Likelihood.CERTAIN)


def test_zeros_in_lines_are_the_seeds_own_sight() -> None:
    told = first(seed_case(with_lines(5, hold=np.zeros_like(RIGHT))))
    assert (told.rule, told.likelihood) == ("dirty-host-lines", Likelihood.POSSIBLE)
    assert "hold zero" in told.sentence


def test_old_values_in_lines() -> None:
    old = draw(9, M, N)
    told = first(seed_case(with_lines(5, 6, hold=old), previous=old))
    assert told.rule == "dirty-host-lines"
    assert "what the buffer held before the run" in told.sentence


def test_never_written() -> None:
    told = first(seed_case(POISONED))
    assert (told.rule, told.sentence) == (
        "never-written",
        "the whole output was never written by the device",
    )


def test_not_read_back() -> None:
    told = first(seed_case(POISONED, events=NOT_READ_BACK, buffer="result 0"))
    assert (told.rule, told.likelihood) == ("not-read-back", Likelihood.CERTAIN)


def test_a_tile_that_was_never_written() -> None:
    got = RIGHT.copy()
    got[8:16, 40:48] = POISONED[8:16, 40:48]
    told = first(seed_case(got))
    assert told.rule == "part-not-written"
    assert "block [8, 40] to [15, 47] (8x8)" in told.sentence


# ------------------------------------------------------------------ places


def test_transposed() -> None:
    assert first(seed_case(RIGHT.T)).rule == "transposed"


@pytest.mark.parametrize(
    ("step", "says"),
    [(1, "1 elements later"), (-3, "3 elements earlier"), (128, "(2 rows)"), (-16, "16 elements earlier")],
)
def test_shifted(step: int, says: str) -> None:
    told = first(seed_case(np.roll(RIGHT.reshape(-1), step).reshape(M, N)))
    assert told.rule == "shifted"
    assert says in told.sentence


def test_tiles_in_another_order() -> None:
    tiles = RIGHT.reshape(8, 8, 8, 8).transpose(0, 2, 1, 3).reshape(M, N)
    assert first(seed_case(tiles)).rule == "permuted"


def test_one_batch() -> None:
    want = draw(3, 4, 8, 8)
    got = want.copy()
    got[2, 1, 1] += 1
    told = first(Case("result 0", TensorType((4, 8, 8), "i32"), got, want))
    assert (told.rule, told.sentence) == ("one-batch", "only batch 2 of 4 is wrong")


def test_intermittent() -> None:
    wrong = compare("result 0", np.zeros_like(RIGHT), RIGHT, TYPE)
    told = summarise([outcome([wrong] if i == 3 else []) for i in range(10)])
    got = RIGHT.copy()
    got[0, 0] += 1
    found = diagnose(seed_case(got, statistics=told))
    assert [d.rule for d in found] == ["intermittent"]
    assert "1 of 10 runs" in found[0].evidence[0]


# ------------------------------------------------------------------ arithmetic, recomputed


def low(bits: int, values: Array) -> Array:
    return ((values + (1 << (bits - 1))) % (1 << bits)) - (1 << (bits - 1))


MISTAKES: dict[str, tuple[Callable[[], Array], str, str]] = {
    "no fill": (lambda: A @ B, "start-missing", "the fill of 7 is missing: equals the sum alone"),
    "fill twice": (lambda: A @ B + 14, "start-doubled", "the fill of 7 is there twice"),
    "nothing summed": (lambda: np.full((M, N), 7), "k-slice", "nothing was summed"),
    "first half of K": (lambda: A[:, :64] @ B[:64] + 7, "k-slice", "equals a partial sum over 64 of 128 k"),
    "last K tile missing": (
        lambda: A[:, :96] @ B[:96] + 7,
        "k-slice",
        "equals a partial sum over 96 of 128 k",
    ),
    "first K tile missing": (lambda: A[:, 32:] @ B[32:] + 7, "k-slice", "the last 96 of 128 k"),
    "a K tile missing": (
        lambda: RIGHT - A[:, 32:64] @ B[32:64],
        "k-slice",
        "K slice missing: k from 32 to 63 of 128 are not summed",
    ),
    "a K tile twice": (lambda: RIGHT + A[:, 32:64] @ B[32:64], "k-slice", "[32, 64) of 128 is there twice"),
    "not cleared": (lambda: 2 * (A @ B) + 7, "k-slice", "the whole sum is there twice"),
    "16 bits": (lambda: low(16, RIGHT), "narrowed", "cut to 16 bits, signed"),
    "saturated to 16 bits": (lambda: np.clip(RIGHT, -32768, 32767), "narrowed", "saturated to i16"),
    "all zero": (lambda: np.zeros((M, N)), "all-zero", "the whole output is zero"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_arithmetic(mistake: str) -> None:
    make, rule, says = MISTAKES[mistake]
    told = first(seed_case(make()))
    assert (told.rule, told.likelihood) == (rule, Likelihood.LIKELY)
    assert says in told.sentence


def test_a_mistake_in_one_tile_only() -> None:
    got = RIGHT.copy()
    got[:32, 32:] = (A[:, :96] @ B[:96] + 7)[:32, 32:]
    told = first(seed_case(got))
    assert "equals a partial sum over 96 of 128 k" in told.sentence
    assert "all 1024 wrong elements" in told.evidence[0]


def square_case(got: Array, a: Array, b: Array) -> Case:
    size = len(a)
    function = filled_matmul(size, size, size, bytes(4))
    want = a @ b
    return Case(
        "result 0",
        TensorType((size, size), "i32"),
        got.astype(np.int32),
        want,
        function=function,
        inputs=[a, b],
    )


@pytest.mark.parametrize(
    ("mistake", "rule", "says"),
    [
        ("A transposed", "operand-transposed", "operand 0"),
        ("B transposed", "operand-transposed", "operand 1"),
        ("exchanged", "operands-swapped", "exchanged"),
    ],
)
def test_transposed_and_exchanged_operands(mistake: str, rule: str, says: str) -> None:
    a, b = draw(5, 48, 48), draw(6, 48, 48)
    got = {"A transposed": a.T @ b, "B transposed": a @ b.T, "exchanged": b @ a}[mistake]
    told = first(square_case(got, a, b))
    assert (told.rule, told.likelihood) == (rule, Likelihood.LIKELY)
    assert says in told.sentence


@pytest.mark.parametrize(
    ("body", "device", "says"),
    [
        ("arith.extsi", np.uint8, "signed read as unsigned"),
        ("arith.extui", np.int8, "unsigned read as signed"),
    ],
)
def test_signs(body: str, device: Any, says: str) -> None:
    a, b = (
        np.random.default_rng(s).integers(-128, 128, shape).astype(np.int8)
        for s, shape in ((1, (16, 32)), (2, (32, 8)))
    )
    function = filled_matmul(16, 8, 32, bytes(4), operand="i8", extend=body)
    (want,) = reference(function, [a, b]).results
    both = a.view(device).astype(np.int32) @ b.view(device).astype(np.int32)
    told = first(Case("r", TensorType((16, 8), "i32"), both, want, function=function, inputs=[a, b]))
    assert (told.rule, told.sentence) == ("signs", f"{says}: the operands of linalg.matmul")
    one = a.view(device).astype(np.int32) @ b.view(np.int8 if device == np.uint8 else np.uint8).astype(
        np.int32
    )
    told = first(Case("r", TensorType((16, 8), "i32"), one, want, function=function, inputs=[a, b]))
    assert told.sentence == f"{says}: the operand 0 of linalg.matmul"


def test_saturation_where_mlir_wraps() -> None:
    a, b = draw(1, 8, 16, limit=2**23), draw(2, 16, 8, limit=2**23)
    function = filled_matmul(8, 8, 16, bytes(4))
    exact = a.astype(np.int64) @ b.astype(np.int64)
    (want,) = reference(function, [a, b]).results
    got = np.clip(exact, -(2**31), 2**31 - 1).astype(np.int32)
    told = first(Case("r", TensorType((8, 8), "i32"), got, want, function=function, inputs=[a, b]))
    assert told.rule == "saturated"


def test_missing_accumulator_argument() -> None:
    source = Source()
    a, b, c = source.argument(16, 32), source.argument(32, 8), source.argument(16, 8)
    function = source.done(source.matmul(a, b, c))
    inputs = [draw(1, 16, 32), draw(2, 32, 8), draw(3, 16, 8)]
    want = inputs[0] @ inputs[1] + inputs[2]
    told = first(
        Case("r", TensorType((16, 8), "i32"), inputs[0] @ inputs[1], want, function=function, inputs=inputs)
    )
    assert told.sentence == "the incoming accumulator is missing: equals the sum alone"
    told = first(
        Case("r", TensorType((16, 8), "i32"), want + inputs[2], want, function=function, inputs=inputs)
    )
    assert told.sentence == "the incoming accumulator is there twice"


def test_report_70() -> None:
    # ones, K = 1024, and 128 comes back
    ones = np.ones((128, 1024), np.int8), np.ones((1024, 128), np.int8)
    function = filled_matmul(128, 128, 1024, bytes(4), operand="i8")
    want, got = np.full((128, 128), 1024, np.int32), np.full((128, 128), 128, np.int32)
    told = first(Case("result 0", TensorType((128, 128), "i32"), got, want, function=function, inputs=ones))
    assert "equals a partial sum over 128 of 1024 k" in told.sentence


def test_several_explanations_are_only_possible() -> None:
    # ones: a fill of 16 missing looks like 16 of 128 k missing
    ones = np.ones((16, 128), np.int32), np.ones((128, 16), np.int32)
    function = filled_matmul(16, 16, 128, struct.pack("<i", 16))
    want = np.full((16, 16), 144, np.int32)
    found = diagnose(Case("r", TensorType((16, 16), "i32"), want - 16, want, function=function, inputs=ones))
    assert {d.rule for d in found} == {"start-missing", "k-slice"}
    assert all(d.likelihood is Likelihood.POSSIBLE for d in found)


def test_another_expectation_than_the_programs() -> None:
    told = first(dataclasses.replace(seed_case(RIGHT), want=RIGHT + 1))
    assert (told.rule, told.likelihood) == ("expectation", Likelihood.CERTAIN)


# ------------------------------------------------------------------ floats


def float_case(element: str, got: npt.NDArray[np.float64], a: Array, b: Array) -> Case:
    zero = np.zeros(1, dtypes.numpy_dtype(element)).tobytes()
    function = filled_matmul(len(a), b.shape[1], len(b), zero, operand=element, element=element)
    told = reference(function, [a, b])
    type_ = TensorType((len(a), b.shape[1]), element)
    return Case(
        "r",
        type_,
        stored(got, element),
        told.results[0],
        bound=told.bounds[0],
        function=function,
        inputs=[a, b],
    )


def normal(seed: int, element: str, *shape: int) -> Array:
    return stored(np.random.default_rng(seed).standard_normal(shape), element)


def test_report_24_an_accumulator_that_sticks() -> None:
    # 512 ones: half of K looks the same
    dtype = dtypes.numpy_dtype("bf16")
    ones = np.ones((16, 512), dtype), np.ones((512, 16), dtype)
    found = diagnose(float_case("bf16", np.full((16, 16), 256.0), *ones))
    assert {d.rule for d in found} == {"k-slice", "stuck-accumulator"}


def test_an_accumulator_that_sticks_with_positive_numbers() -> None:
    a, b = (
        stored(np.abs(np.random.default_rng(s).standard_normal(shape)) + 1, "bf16")
        for s, shape in ((1, (8, 512)), (2, (512, 8)))
    )
    total = np.zeros((8, 8), np.float64)
    for k in range(512):
        step = np.outer(a[:, k].astype(np.float64), b[k].astype(np.float64))
        total = rounded(np.asarray(total + step, np.float64), "bf16")
    assert first(float_case("bf16", total, a, b)).rule == "stuck-accumulator"


def test_a_missing_k_slice_of_floats() -> None:
    a, b = normal(1, "f32", 32, 128), normal(2, "f32", 128, 32)
    told = first(float_case("f32", a[:, :64].astype(np.float64) @ b[:64].astype(np.float64), a, b))
    assert (told.rule, told.likelihood) == ("k-slice", Likelihood.LIKELY)
    assert "64 of 128 k" in told.sentence


def test_rounding_to_one_side() -> None:
    a, b = normal(1, "f32", 32, 128), normal(2, "f32", 128, 32)
    case = float_case("f32", a.astype(np.float64) @ b.astype(np.float64), a, b)
    assert case.bound is not None
    low_side = dataclasses.replace(case, got=stored(case.want.astype(np.float64) - 3 * case.bound, "f32"))
    told = first(low_side)
    assert told.rule == "rounding"
    assert any("rounds to one side" in fact for fact in told.evidence)


def test_a_result_that_went_through_bf16() -> None:
    a, b = normal(1, "f32", 32, 128), normal(2, "f32", 128, 32)
    case = float_case("f32", rounded(a.astype(np.float64) @ b.astype(np.float64), "bf16"), a, b)
    assert first(case).sentence == "the right values went through a narrower type: rounded to bf16"


def test_a_result_that_cannot_be_explained_says_nothing() -> None:
    got = RIGHT.copy()
    got[::7, ::5] = 123456
    assert diagnose(seed_case(got)) == ()
