"""Round trips of the dataclasses that go to disk; the fixed document pins the format."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe import json_codec
from aiepipe.errors import ArtifactError
from aiepipe.program import (
    Access,
    AffineResult,
    Attribute,
    Binding,
    BufferSlice,
    CopyCommand,
    Dispatch,
    FillCommand,
    HostFunction,
    ScalarBody,
    ScalarOp,
    SourceLocation,
    Structured,
    TensorOp,
    TensorType,
    Value,
)

HERE = SourceLocation("a.mlir", 3, 7)

attributes: st.SearchStrategy[Attribute] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), attributes))
def test_attributes_of_any_kind_survive_the_round_trip(values: dict[str, Attribute]) -> None:
    op = TensorOp("x.y", ("%0",), (Value("%1", TensorType((2, 3), "i32")),), HERE, values)
    text = json.dumps(json_codec.encode(op))
    assert json_codec.decode(json.loads(text), TensorOp) == op


def test_a_dispatch_with_a_body_survives_the_round_trip() -> None:
    body = ScalarBody(("i8", "i32"), (ScalarOp("arith.extsi", (0,), "i32"),), (2,))
    structured = Structured(1, ((AffineResult((1, 0)),), ()), ("parallel", "reduction"), (4, 5), body)
    op = TensorOp("linalg.generic", (), (), HERE, {"splat": True, "value": b"\x07"}, structured)
    dispatch = Dispatch("d", (Binding(0, TensorType((4,), "i8"), Access.READ_WRITE),), (op,), "text", HERE)
    assert json_codec.decode(json_codec.encode(dispatch), Dispatch) == dispatch


def test_commands_are_told_apart_by_their_kind() -> None:
    a, b = BufferSlice("a", 0, 4), BufferSlice("b", 4, 4)
    commands = (CopyCommand(a, b, HERE), FillCommand(a, b"\x01\x02", HERE))
    function = HostFunction("f", (), (), commands, (), HERE, {2: b"\x00"})
    document = json_codec.encode(function)
    assert [c["kind"] for c in document["commands"]] == ["CopyCommand", "FillCommand"]
    assert document["scalars"] == {"2": {"hex": "00"}}
    assert json_codec.decode(document, HostFunction) == function


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        None,
        {"buffer": 3, "offset_bytes": 0, "length_bytes": 0},
        {"buffer": "b", "offset_bytes": True, "length_bytes": 0},
        {"buffer": "b", "offset_bytes": 0, "length_bytes": 0, "more": 1},
    ],
)
def test_a_document_that_does_not_fit_is_an_artifact_error(document: object) -> None:
    with pytest.raises(ArtifactError, match="not a BufferSlice"):
        json_codec.decode(document, BufferSlice)
