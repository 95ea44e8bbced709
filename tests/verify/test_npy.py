"""Reading .npy bytes: what numpy writes, what it has no name for, and bytes that are cut or mutated."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe import dtypes
from aiepipe.errors import UsageError
from aiepipe.program import TensorType
from aiepipe.verify.npy import read_npy


def saved(array: npt.NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def read(array: npt.NDArray[Any], type_: TensorType | None) -> npt.NDArray[Any]:
    return read_npy(saved(array), type_, "argument 0", "a.npy")[1]


WHOLE = saved(np.arange(12, dtype=np.int32).reshape(3, 4))


@pytest.mark.parametrize("dtype", ["<i4", ">i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_byte_and_memory_order_do_not_matter(dtype: str, order: Any) -> None:
    array = np.asarray(np.arange(6).reshape(2, 3), dtype=dtype, order=order)
    got = read(array, TensorType((2, 3), "i32"))
    assert got.dtype == np.int32
    assert got.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_types_that_numpy_has_no_name_for() -> None:
    bf16 = dtypes.numpy_dtype("bf16")
    values = np.array([1.5, -2.0]).astype(bf16)
    wanted = TensorType((2,), "bf16")
    for array in (values, values.view(np.uint16)):
        assert read(array, wanted).astype(np.float64).tolist() == [1.5, -2.0]
    with pytest.raises(UsageError, match="no MLIR type has"):
        read(values, None)
    assert read(np.array([-8, 7], np.int8), TensorType((2,), "i4")).astype(int).tolist() == [-8, 7]
    with pytest.raises(UsageError, match="holds 2xint8"):
        read(np.array([-9, 7], np.int8), TensorType((2,), "i4"))


def test_signedness_does_not_matter_but_width_does() -> None:
    assert read(np.array([255], np.uint8), TensorType((1,), "i8")).tolist() == [-1]
    assert read(np.array([0, 1], np.uint8), TensorType((2,), "i1")).tolist() == [False, True]
    for array in (np.array([1], np.int16), np.array([1.0], np.float32)):
        with pytest.raises(UsageError, match="argument 0 is 1xi32"):
            read(array, TensorType((1,), "i32"))


def test_rank_zero_and_empty() -> None:
    assert read(np.array(5, np.int32), TensorType((), "i32")).shape == ()
    assert read(np.zeros((4, 0), np.float32), TensorType((4, 0), "f32")).shape == (4, 0)


def test_pickles_are_refused() -> None:
    with pytest.raises(UsageError, match="Python objects"):
        read(np.array([{}], object), None)


def test_announced_size_is_checked_before_memory_is_taken() -> None:
    header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (1000000000000,), }"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8)
    with pytest.raises(UsageError, match="cut off"):
        read_npy(data, None, "argument 0", "a.npy")


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_every_cut_is_one_error(length: int) -> None:
    with pytest.raises(UsageError, match=r"argument 0: a\.npy is not a \.npy file"):
        read_npy(WHOLE[:length], None, "argument 0", "a.npy")


@given(st.data())
def test_mutations_are_read_or_refused(data: st.DataObject) -> None:
    mutated = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        mutated[data.draw(st.integers(0, len(mutated) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(UsageError):
        read_npy(bytes(mutated), None, "argument 0", "a.npy")
