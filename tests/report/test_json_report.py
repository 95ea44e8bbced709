"""One JSON document with everything in it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from aiepipe.report.json_report import SCHEMA, report_document, report_json
from aiepipe.verdict import BuildRunReport

from .sample import SHA, busy_inspection, right, wrong


def parsed(report: BuildRunReport) -> Any:
    return json.loads(report_json(report))


def test_schema_is_the_first_key() -> None:
    assert next(iter(parsed(right()))) == "schema"
    assert report_document(right())["schema"] == SCHEMA


def test_every_field_of_the_report_is_there() -> None:
    document = parsed(right())
    assert {f.name for f in dataclasses.fields(BuildRunReport)} | {"schema"} == set(document)
    assert document["agreement"] == "PASS"
    assert document["stages"][1]["files"][0]["sha256"] == SHA
    assert document["dispatches"][0]["xclbin_sha256"] == SHA
    assert document["versions"] == {"aiepipe": "0.1.0", "numpy": "2.4"}
    assert document["seeds"] == {"inputs": 3, "coherency": 0}
    assert document["events"][1]["kind"] == "sync to device"
    assert document["comparisons"][0]["type"] == {"shape": [64, 64], "element": "i32", "text": "64x64xi32"}
    assert document["inspection"]["fates"][0]["location"] == "mlir/matmul.mlir:7:8"


def test_a_wrong_run() -> None:
    document = parsed(wrong())
    mismatch = document["comparisons"][0]["mismatch"]
    assert (mismatch["count"], mismatch["line_numbers"], mismatch["first"]) == (32, [70, 71], [17, 32])
    assert mismatch["groups"][0]["holds"] == "poison"
    assert document["statistics"]["wrong_runs"] == 100
    assert document["diagnoses"][0]["likelihood"] == "likely"


def test_bytes_are_hex_and_infinities_text() -> None:
    report = dataclasses.replace(right(), inspection=busy_inspection())
    assert parsed(report)["inspection"]["operations"][0]["pattern"] == "c03f"
    (comparison,) = right().comparisons
    endless = dataclasses.replace(comparison, statistics={"largest error": float("inf")})
    document = parsed(dataclasses.replace(right(), comparisons=(endless,)))
    assert document["comparisons"][0]["statistics"]["largest error"] == "inf"
