"""What people see: the story of a right run and of the seed's wrong one, in a pipe and on a terminal."""

from __future__ import annotations

import dataclasses
import io
import re

import pytest

from aiepipe.report.terminal import print_report
from aiepipe.verdict import BuildRunReport, EventKind, HostEvent

from .sample import busy_inspection, right, wrong


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def piped(report: BuildRunReport, *, verbose: bool = False) -> str:
    stream = io.StringIO()
    print_report(report, stream, verbose=verbose)
    return stream.getvalue()


RIGHT = """\
aiepipe build-run  mlir/matmul.mlir  @matmul
stages
  front end  610 ms  iree-base-compiler 3.13.0
  backend     12 ms  1 dispatch
             matmul_dispatch_0.xclbin
  run         50 ms
fills
  no fill in the HAL IR
  mlir/matmul.mlir:7:8 linalg.fill of 7 : i32 in matmul: fused into the dispatch matmul_dispatch_0
inputs
  argument 0  64x16xi32  64x16xi32=1
buffers
  result 0  64x64xi32  16,384 B
syncs, policy default
  write             result 0           [0, 16384)  poison
  sync to device    result 0           [0, 16384)
  start             matmul_dispatch_0
  wait              matmul_dispatch_0              state COMPLETED
  sync from device  result 0           [0, 16384)
about 12,345 cycles of the array
results
  result 0  equal  64x64xi32, all 39; exactly against numpy
seeds: inputs 3, coherency 0
again: aiepipe build-run mlir/matmul.mlir --seed 3
PASS on the emulated npu1 (Phoenix): all results are right, exactly against numpy
"""


def test_a_right_run_in_a_pipe() -> None:
    assert piped(right()) == RIGHT


def test_a_wrong_run_says_what_where_and_why() -> None:
    text = piped(wrong())
    for part in (
        "syncs, policy no-output-presync",
        "100 of 200 runs wrong, 50.0 % (95 % interval 43.1 % to 56.9 %)",
        "first in run 2; 2 wrong 64-byte lines per wrong run, 2 different ones in all",
        "most often 70 (100x), 71 (100x)",
        "result 0  32 of 4,096 elements wrong (0.78 %)",
        "32 hold the poison that the host wrote before the run, for example at [17, 32] -1515870811",
        "-1515870811 instead of 39",
        "first at [17, 32], last at [17, 63]",
        "in 2 64-byte lines of the buffer, all wrong as a whole: lines 70 to 71",
        "(4 rows of blocks are right)\n      "
        + "." * 32
        + "+" * 32
        + "\n      (11 rows of blocks are right)",
        "likely: result 0: wrong elements fill whole 64-byte lines",
        "- 2 of 2 lines are wrong as a whole",
        "warning: IREE rewrote something",
        "FAIL on the emulated npu1 (Phoenix): 100 of 200 runs are wrong",
    ):
        assert part in text
    assert text.count("\n") < 66


def test_verbose_adds_details_and_the_accumulation() -> None:
    text = piped(right(), verbose=True)
    assert "iree-compile mlir/matmul.mlir" in text
    assert "mlir/matmul.mlir:7:8 linalg.matmul: sums of 16 terms, exact modulo 2^32" in text
    assert "aiepipe 0.1.0, numpy 2.4" in text


def test_a_long_run_log_is_cut_unless_verbose() -> None:
    events = tuple(HostEvent(i, 1, EventKind.WRITE, f"b{i}", 0, 4) for i in range(40))
    report = dataclasses.replace(right(), events=events)
    assert "... and 28 more events (-v)" in piped(report)
    assert "b39" in piped(report, verbose=True)


def test_inspection_is_a_table() -> None:
    report = BuildRunReport(command="inspect", file="a.mlir", inspection=busy_inspection())
    lines = piped(report).splitlines()
    assert lines[1] == "1 fill in the HAL IR: hal.command_buffer.fill_buffer"
    assert lines[2].split() == ["what", "target", "bytes", "value", "when", "function", "where", "op"]
    assert "result 2  [128, 192)     1.5 : bf16 (pattern i16 0x3FC0)  each call" in lines[3]
    assert "range unknown" in lines[4]
    assert lines[5:] == ["2 dispatches", "  a", "  b"]


def test_file_names_are_not_markup() -> None:
    report = BuildRunReport(command="build", file="[red]a:smile:.mlir")
    assert piped(report) == "aiepipe build  [red]a:smile:.mlir\n"


def test_colour_on_a_terminal_only_and_not_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" not in piped(wrong())
    stream = Terminal()
    print_report(wrong(), stream)
    assert "\x1b[1;31m" in stream.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    print_report(wrong(), plain)
    assert "\x1b[1;31m" not in plain.getvalue()
    assert "31m" not in plain.getvalue()


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_terminal_of_any_width_shows_every_word(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    print_report(wrong(), stream)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert max(map(len, shown.splitlines())) <= width
    assert "".join(shown.split()) == "".join(piped(wrong()).split())
