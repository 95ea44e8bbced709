"""Which of the many generated cases run by default.

Each of these cases builds and translates a program of its own. One in so many runs by default, so that CI
stays within minutes; `make test-all` runs all.
"""

from __future__ import annotations

import pytest

ONE_IN = {
    "codegen/test_array_execution.py": 5,
    "codegen/test_stage_execution.py": 4,
    "codegen/test_nothing_is_found.py": 5,
    "codegen/test_streaming.py": 4,
    "codegen/test_array_epilogue.py": 4,
    "codegen/test_aie_dialect.py": 3,
    "end_to_end/test_default_is_clean.py": 3,
    "docs/test_commands.py": 3,
    "docs/test_examples.py": 2,
}


def mark_the_rest_slow(items: list[pytest.Item]) -> None:
    """Counts each test function's cases; a function with few has all of them run."""
    cases: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        file = "/".join(item.path.parts[-2:])
        if file in ONE_IN:
            cases.setdefault((file, getattr(item, "originalname", item.name)), []).append(item)
    for (file, _), family in cases.items():
        for number, item in enumerate(family):
            if number % ONE_IN[file]:
                item.add_marker(pytest.mark.slow)
