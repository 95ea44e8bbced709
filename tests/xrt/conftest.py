"""A fresh emulation over the fake machine, as the pyxrt-like module that the runner takes."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from aiepipe.xrt import emulated
from aiepipe.xrt.emulation import Emulation, Settings, emulation

from .programs import silicon


@pytest.fixture
def emulated_device() -> Generator[Emulation]:
    """The current emulation, with seed 1 and the default cache model."""
    with emulation(Settings(seed=1, silicon=silicon())) as current:
        yield current
    assert emulated.current() is not current
