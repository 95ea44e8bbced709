"""The bound on nesting: brackets count, strings, comments and arrows do not."""

from __future__ import annotations

import pytest

from aiepipe.errors import CompileError
from aiepipe.frontend.nesting import DEEPEST, check_nesting
from aiepipe.program import SourceLocation


@pytest.mark.parametrize("pair", ["()", "[]", "{}", "<>"])
def test_each_kind_of_bracket_counts(pair: str) -> None:
    check_nesting("a.mlir", pair[0] * DEEPEST + pair[1] * DEEPEST)
    with pytest.raises(CompileError, match=f"deeper than {DEEPEST} levels"):
        check_nesting("a.mlir", pair[0] * (DEEPEST + 1))


def test_kinds_add_up_and_the_place_is_that_of_the_bracket_too_many() -> None:
    text = "{(\n" + "[<" * (DEEPEST // 2)
    with pytest.raises(CompileError) as caught:
        check_nesting("a.mlir", text)
    assert caught.value.location == SourceLocation("a.mlir", 2, DEEPEST - 1)


def test_what_is_closed_does_not_count() -> None:
    check_nesting("a.mlir", "(){}[]<>" * 10_000)
    check_nesting("a.mlir", "}" * 1000 + "{" * DEEPEST)


@pytest.mark.parametrize("ignored", ['"((((("', '"a\\"((("', "// (((((\n", "->", ">=", "<="])
def test_strings_comments_and_arrows_are_no_brackets(ignored: str) -> None:
    check_nesting("a.mlir", ignored * 1000 + "(" * DEEPEST)


def test_an_open_string_ends_with_its_line() -> None:
    with pytest.raises(CompileError):
        check_nesting("a.mlir", '"open\n' + "(" * (DEEPEST + 1))
