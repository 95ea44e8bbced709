"""The key of a row: another version of an external compiler is another key."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.flows.sweep_point import point_key
from aiepipe.testing.sweep import MatmulShape, SweepPoint


@pytest.mark.parametrize(("backend", "program"), [("iree-amd-aie", "iree-compile"), ("mlir-aie", "aiecc")])
def test_another_version_of_an_external_compiler_is_another_key(
    backend: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = SweepPoint(MatmulShape(2, 2, 2), backend)
    monkeypatch.setenv("PATH", str(tmp_path))
    absent = point_key(point, "emulated")
    file = tmp_path / program
    file.write_text("#!/bin/sh\necho version 1\n")
    file.chmod(0o755)
    first = point_key(point, "emulated")
    assert point_key(point, "emulated") == first != absent
    file.write_text("#!/bin/sh\necho version 10\n")
    assert point_key(point, "emulated") not in (first, absent)


def test_a_backend_without_an_external_compiler_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    point = SweepPoint(MatmulShape(2, 2, 2))
    key = point_key(point, "emulated")
    monkeypatch.setenv("PATH", "")
    assert point_key(point, "emulated") == key


def test_an_unknown_backend_has_a_key_too() -> None:
    """It is a row with an error, and not the end of the sweep."""
    assert point_key(SweepPoint(MatmulShape(2, 2, 2), "no-such"), "emulated")
