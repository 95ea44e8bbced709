"""Which of the many generated programs run by default."""

from __future__ import annotations

import pytest

_ONE_IN = 3
_SAMPLED = (
    "test_reductions_of_integers",
    "test_shapes_on_all_cores_that_share",
    "test_integer_ops",
    "test_integer_comparisons",
    "test_shifts_by_a_constant",
    "test_conversions",
    "test_transposes",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One in three of each large family by default, all with `make test-all`: each is a new program."""
    seen: dict[str, int] = {}
    for item in items:
        name = getattr(item, "originalname", "")
        if name in _SAMPLED and item.path.name == "test_stage_execution.py":
            seen[name] = seen.get(name, -1) + 1
            if seen[name] % _ONE_IN:
                item.add_marker(pytest.mark.slow)
