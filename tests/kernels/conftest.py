"""One compiler for all tests of builders: its worker imports IREE once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aiepipe.frontend.compiler import Compiler


@pytest.fixture(scope="session")
def compiler() -> Iterator[Compiler]:
    with Compiler() as made:
        yield made
