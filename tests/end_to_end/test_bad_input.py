"""Wrong input of each kind: one clear message, no traceback, the exit code of docs/errors.md."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import Cli

MATMUL = str(Path(__file__).parents[2] / "mlir" / "matmul.mlir")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hello", "1:1: error: custom op 'hello' is unknown"),
        (
            "func.func @f(%a: tensor<?x4xi32>) -> tensor<?x4xi32> { return %a : tensor<?x4xi32> }",
            "dynamic",
        ),
        (
            "func.func @f(%a: tensor<4x4xf64>, %b: tensor<4x4xf64>) -> tensor<4x4xf64> {\n"
            "  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf64>, tensor<4x4xf64>) outs(%a : tensor<4x4xf64>)"
            " -> tensor<4x4xf64>\n  return %0 : tensor<4x4xf64>\n}",
            "f64",
        ),
    ],
    ids=["not MLIR", "dynamic shape", "f64"],
)
def test_mlir_that_cannot_be_compiled_exits_3(cli: Cli, tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "input.mlir"
    file.write_text(text)
    done = cli("build-run", str(file))
    assert done.code == 3, done.out + done.err
    assert says in done.err
    assert "input.mlir" in done.err
    assert done.out == ""


@pytest.fixture
def built(cli: Cli, tmp_path: Path) -> tuple[Path, Path]:
    assert cli("build", MATMUL, "-o", str(tmp_path)).code == 0
    return next(tmp_path.glob("*.xclbin")), next(tmp_path.glob("*.npu_inst.bin"))


ARGUMENTS = ("--arg", "in:64x16xi32=1", "--arg", "in:16x64xi32=2", "--arg", "out:64x64xi32")


def test_a_truncated_xclbin_exits_4(cli: Cli, built: tuple[Path, Path]) -> None:
    xclbin, stream = built
    xclbin.write_bytes(xclbin.read_bytes()[:1000])
    done = cli("run", "--xclbin", str(xclbin), "--insts", str(stream), *ARGUMENTS)
    assert done.code == 4, done.out + done.err
    assert "offset" in done.err
    assert xclbin.name in done.err


def test_a_stream_with_a_wrong_size_word_exits_4(cli: Cli, built: tuple[Path, Path]) -> None:
    xclbin, stream = built
    data = bytearray(stream.read_bytes())
    struct.pack_into("<I", data, 12, len(data) + 4)  # word 3 of the TXN header: total bytes
    stream.write_bytes(data)
    done = cli("run", "--xclbin", str(xclbin), "--insts", str(stream), *ARGUMENTS)
    assert done.code == 4, done.out + done.err
    assert stream.name in done.err


def test_an_input_of_the_wrong_shape_exits_2(cli: Cli) -> None:
    done = cli("build-run", MATMUL, "--input", "64x17xi32=1", "--input", "16x64xi32=2")
    assert done.code == 2, done.out + done.err
    assert "64x16xi32" in done.err
    assert "64x17xi32" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("build-run",),
        ("build-run", "no-such-file.mlir"),
        ("build-run", MATMUL, "--no-such-option"),
        ("build-run", MATMUL, "--backend", "no-such-backend"),
        ("build-run", MATMUL, "--sync-policy", "no-such-policy"),
        ("build-run", MATMUL, "--function", "no_such_function"),
        ("build-run", MATMUL, "--device", "no-such-device"),
        ("build-run", MATMUL, "--input", "64x16xi32=1"),
        ("no-such-command",),
    ],
)
def test_usage_errors_exit_2(cli: Cli, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.code == 2, done.out + done.err
    assert done.err


def test_an_error_is_a_document_under_json(cli: Cli) -> None:
    done = cli("build-run", MATMUL, "--function", "no_such_function", "--json")
    assert done.code == 2
    assert next(iter(done.document)) == "schema"
    assert done.document["exit_code"] == 2
    assert "no_such_function" in done.document["message"]


# whoever starts the tests in the background may have the interrupt ignored
INTERRUPTIBLE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from aiepipe.cli import main; main()"
)


def test_an_interrupt_says_so_and_exits_130() -> None:
    command = [sys.executable, "-c", INTERRUPTIBLE, "build-run", MATMUL, "--repeat", "1000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        time.sleep(3)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == ""
    assert err == "interrupted\n"
