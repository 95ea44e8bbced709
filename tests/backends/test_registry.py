"""Backends by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from aiepipe.backends import registry
from aiepipe.backends.builtin import BuiltinBackend
from aiepipe.backends.protocol import Backend
from aiepipe.backends.settings import BackendRequest
from aiepipe.errors import UsageError


def test_the_builtin_backend_is_installed() -> None:
    assert "builtin" in registry.names()
    backend = registry.load("builtin")
    assert isinstance(backend, BuiltinBackend)
    assert isinstance(backend, Backend)
    assert backend.name == "builtin"


def test_the_builtin_backend_has_options_of_its_own() -> None:
    with pytest.raises(UsageError, match="no option 'peano-dir'") as caught:
        registry.load("builtin", BackendRequest(("peano-dir=/x",)))
    assert "cores, tile" in str(caught.value.remedy)


@pytest.mark.parametrize("option", ["cores=many", "cores=4x", "tile=8,8", "tile=8x8x8"])
def test_an_option_of_the_builtin_backend_that_makes_no_sense(option: str) -> None:
    with pytest.raises(UsageError, match=option.partition("=")[0]):
        registry.load("builtin", BackendRequest((option,)))


def test_the_builtin_backend_takes_no_flags() -> None:
    with pytest.raises(UsageError, match="no --backend-flag"):
        registry.load("builtin", BackendRequest(flags=("-O2",)))


def test_an_unknown_backend_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no backend 'peano'") as caught:
        registry.load("peano")
    assert caught.value.remedy is not None
    assert "builtin" in caught.value.remedy


def test_a_backend_that_cannot_be_imported_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", "aiepipe.no_such_module:Backend", registry.GROUP)

    def installed(*, group: str) -> list[EntryPoint]:
        return [broken] if group == registry.GROUP else []

    monkeypatch.setattr(registry, "entry_points", installed)
    assert registry.names() == ("broken",)
    with pytest.raises(UsageError, match="no_such_module"):
        registry.load("broken")
