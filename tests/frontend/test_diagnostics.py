"""Diagnostics: the forms that IREE 3.13 and its parser send, as people get to see them."""

from __future__ import annotations

from aiepipe.frontend.diagnostics import Diagnostic, Severity, compile_error, from_callback
from aiepipe.program import SourceLocation

TEXT = "func.func @f() {\n\t%0 = foo\n}\n"


def test_the_caret_stands_under_the_column_also_behind_a_tab() -> None:
    diagnostic = Diagnostic(Severity.ERROR, "custom op 'foo' is unknown", SourceLocation("a.mlir", 2, 7))
    assert diagnostic.show("a.mlir", TEXT) == (
        "a.mlir:2:7: error: custom op 'foo' is unknown\n  \t%0 = foo\n  \t     ^"
    )


def test_a_place_outside_the_text_is_shown_without_a_line() -> None:
    diagnostic = Diagnostic(Severity.WARNING, "odd", SourceLocation("a.mlir", 99, 1))
    assert diagnostic.show("a.mlir", TEXT) == "a.mlir:99:1: warning: odd"
    elsewhere = Diagnostic(Severity.NOTE, "see", SourceLocation("b.py", 1, 1))
    assert elsewhere.show("a.mlir", TEXT) == "b.py:1:1: note: see"


def test_the_callbacks_text_is_taken_apart_and_the_generic_op_left_out() -> None:
    text = (
        "-:2:7: 'stream.async.splat' op operand #0 must be i8\n\n-:1:1: called from\n\n"
        '-:2:7: see current operation: %3 = "stream.async.splat"(%2)\n  more of it'
    )
    diagnostic = from_callback(2, text, "a.mlir")
    assert diagnostic == Diagnostic(
        Severity.ERROR,
        "'stream.async.splat' op operand #0 must be i8\n\na.mlir:1:1: called from",
        SourceLocation("a.mlir", 2, 7),
    )
    assert diagnostic.show("a.mlir", TEXT).split("\n") == [
        "a.mlir:2:7: error: 'stream.async.splat' op operand #0 must be i8",
        "  \t%0 = foo",
        "  \t     ^",
        "a.mlir:1:1: called from",
    ]


def test_a_message_without_a_place_has_none() -> None:
    assert from_callback(1, "no target", "a.mlir") == Diagnostic(Severity.WARNING, "no target", None)


def test_an_unknown_severity_is_an_error() -> None:
    assert from_callback(9, "x", "a.mlir").severity is Severity.ERROR


def test_the_first_error_is_the_message_and_warnings_are_shown_too() -> None:
    place = SourceLocation("a.mlir", 2, 7)
    error = compile_error(
        [
            Diagnostic(Severity.WARNING, "hm", None),
            Diagnostic(Severity.ERROR, "'linalg.matmul' op has trouble\nand more", place),
            Diagnostic(Severity.ERROR, "second", None),
        ],
        "a.mlir",
        TEXT,
    )
    assert error.message == "'linalg.matmul' op has trouble"
    assert (error.location, error.op) == (place, "linalg.matmul")
    assert error.diagnostics.startswith("warning: hm\na.mlir:2:7: error: 'linalg.matmul'")
    assert error.diagnostics.endswith("error: second")


def test_a_failure_without_any_error_says_so() -> None:
    assert "did not say why" in compile_error([], "a.mlir", TEXT).message


def test_removed_named_ops_get_their_replacement() -> None:
    for op, instead in (
        ("linalg.matmul_transpose_b", "linalg.matmul"),
        ("linalg.batch_matmul_transpose_a", "linalg.batch_matmul"),
    ):
        message = f"custom op '{op}' is unknown"
        error = compile_error([Diagnostic(Severity.ERROR, message, None)], "a.mlir", TEXT)
        assert error.op == op
        assert error.remedy == f"use {instead} with indexing_maps: the named op left MLIR"


def test_an_op_of_an_unknown_dialect_is_named_though_the_parser_does_not() -> None:
    text = '%0 = "foo.bar"(%a) : () -> i32'
    place = SourceLocation("a.mlir", 1, text.index("(%a)") + 1)
    message = "operation being parsed with an unregistered dialect. If this is intended, ..."
    error = compile_error([Diagnostic(Severity.ERROR, message, place)], "a.mlir", text)
    assert error.op == "foo.bar"
    assert error.message == "the op foo.bar is of a dialect that IREE does not know"
