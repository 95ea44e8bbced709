"""The reader of console blocks finds what a page says, and finds out what is not so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.console import Ran, blocks, commands, difference, run

PAGE = """\
Text.

<!-- slow -->
```console
$ echo one \\
    two
one two
$ false
$ echo $?
1
```

*Not run by the tests: needs an NPU.*

```console
$ aiepipe run --device hardware
```

    an indented block
    of two lines

- in a list

  ```toml title="sweep.toml"
  a = 1
  ```
"""


def test_blocks_have_language_place_title_and_marks() -> None:
    slow, skipped, indented, file = blocks(PAGE)
    assert (slow.language, slow.line, slow.slow, slow.reason_not_run) == ("console", 5, True, None)
    assert (skipped.slow, skipped.reason_not_run) == (False, "needs an NPU.")
    assert (indented.language, indented.lines) == ("", ("an indented block", "of two lines", ""))
    assert (file.title, file.lines) == ("sweep.toml", ("a = 1",))


def test_commands_have_their_output_and_may_fail_where_the_page_asks_how() -> None:
    first, second, third = commands(blocks(PAGE)[0])
    assert (first.text, first.expected, first.may_fail) == ("echo one \\\n    two", ("one two",), False)
    assert (second.text, second.line, second.may_fail) == ("false", 8, True)
    assert (third.expected, third.may_fail) == (("1",), False)


def test_a_page_is_one_session(tmp_path: Path) -> None:
    texts = ["cd sub", "A=1; false", "echo $?$A; pwd -P | tail -c 4", "echo wrong >&2; (exit 3)", "if"]
    (tmp_path / "sub").mkdir()
    ran = run(texts, tmp_path, dict(os.environ))
    assert ran[:4] == [Ran("", 0), Ran("", 1), Ran("11\nsub\n"[:-1] + "\n", 0), Ran("wrong\n", 3)]
    assert ran[4].code != 0  # bash cannot parse it; the session goes on all the same


@pytest.mark.parametrize(
    ("shown", "output", "same"),
    [
        ("", "anything", True),
        ("a\nb", "a\nb\n", True),
        ("a", "a\nb\n", False),
        ("a\nb", "a\n", False),
        ("a ... c", "a long c", True),
        ("a ... c", "a long d", False),
        ("a\n...", "a\nb\nc", True),
        ("...\nc", "a\nb\nc", True),
        ("...\nc", "a\nb\n", False),
        ("a\n...\nc", "a\nc", True),
        ("a\n...\nb\nd", "a\nb\nc\nd", False),
        ("0.5 (x)", "0a5 (x)", False),
    ],
)
def test_dots_stand_for_text_or_for_lines(shown: str, output: str, same: bool) -> None:
    assert (difference(tuple(shown.splitlines()), output) is None) is same
