"""Names of releases: their order, and the runtime that goes with a compiler."""

from __future__ import annotations

import pytest

from aiepipe.flows.compiler_wheels import runtime_for, version_key


@pytest.mark.parametrize(
    ("compiler", "runtime"),
    [
        ("3.7.1", "iree-base-runtime==3.7.*"),  # PyPI has this compiler, and the runtime 3.7.0 only
        ("3.13.0", "iree-base-runtime==3.13.*"),
        ("3.14.0rc20260101", "iree-base-runtime==3.14.0rc20260101"),
    ],
)
def test_the_runtime_is_of_the_same_minor_release(compiler: str, runtime: str) -> None:
    assert runtime_for(compiler) == runtime


def test_releases_are_ordered_by_number() -> None:
    names = ["3.10.0", "3.9.0", "3.7.1", "3.7.0", "3.10.0rc20250101"]
    assert sorted(names, key=version_key) == ["3.7.0", "3.7.1", "3.9.0", "3.10.0rc20250101", "3.10.0"]
