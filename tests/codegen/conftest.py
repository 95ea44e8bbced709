"""Programs of these tests run once or twice and are small: their cores are compiled fast."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def quick_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIEPIPE_JIT_LEVEL", "0")
