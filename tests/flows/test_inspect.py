"""Two inspections compared: flag sets, files, and a JSON report that another compiler may have made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aiepipe.errors import UsageError
from aiepipe.flows.inspect import InspectOptions, failed_condition, inspect
from aiepipe.report.json_report import report_json

SAMPLES = Path(__file__).resolve().parents[2] / "mlir"
FILL = str(SAMPLES / "fill_bf16.mlir")
NO_HOISTING = "--iree-opt-const-expr-hoisting=false"


def test_two_flag_sets_are_compared_answer_by_answer() -> None:
    report = inspect(InspectOptions(FILL, diff_flags=(NO_HOISTING,)))
    assert report.difference is not None
    changes = {change.question: (change.before, change.after) for change in report.difference.changes}
    assert changes["fill 1 of @fill, flow"] == (
        "flow.tensor.splat in start-up",
        "flow.tensor.splat in @fill",
    )
    assert changes["result 0 of @fill"] == (
        "copy by hal.device.queue.copy at each call",
        "fill by hal.device.queue.fill at each call",
    )
    assert "fill 1 of @fill, input" not in changes
    assert report.difference.after == f"{FILL} {NO_HOISTING}"


def test_a_report_compares_with_the_file_it_is_of(tmp_path: Path) -> None:
    earlier = inspect(InspectOptions(FILL))
    path = tmp_path / "earlier.json"
    path.write_text(report_json(replace(earlier, versions={"iree-base-compiler": "3.8.0"})))
    options = InspectOptions(FILL, fail_on="difference", diff=str(path))
    report = inspect(options)
    assert report.difference is not None
    assert report.difference.changes == ()
    assert report.difference.questions > 4
    assert report.difference.after.endswith("earlier.json (iree-base-compiler 3.8.0)")
    assert failed_condition(options, report) is None
    other = replace(options, iree_flags=(NO_HOISTING,))
    assert failed_condition(other, inspect(other)) == "--fail-on difference: 6 answers differ"


@pytest.mark.parametrize(
    ("content", "message"),
    [("{}", "no report"), ("[1]", "no report"), ("x", "no report"), ('{"schema": "x"}', "no report")],
)
def test_what_is_no_report_is_a_usage_error(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=message):
        inspect(InspectOptions(FILL, diff=str(path)))


@pytest.mark.parametrize(
    "options",
    [
        InspectOptions(FILL, fail_on="difference"),
        InspectOptions(FILL, fail_on="weather"),
        InspectOptions(FILL, diff="x.json", diff_flags=(NO_HOISTING,)),
    ],
)
def test_options_that_do_not_go_together(options: InspectOptions) -> None:
    with pytest.raises(UsageError):
        inspect(options)
