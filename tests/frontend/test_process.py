"""The worker: crashes, hangs and hunger end in one error each, and the next request is served."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aiepipe.errors import UsageError, WorkerCrash
from aiepipe.frontend.compiler import Compiler
from aiepipe.frontend.process import WorkerFault, WorkerProcess

TEXT = (Path(__file__).resolve().parents[2] / "mlir" / "matmul.mlir").read_text()


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[tuple[Compiler, Path]]:
    """A compiler of its own, and a file whose Python code `run` executes in the worker."""
    with Compiler(timeout_s=20) as made:
        yield made, tmp_path / "script.py"


def run(compiler: Compiler, script: Path, code: str) -> object:
    script.write_text(code)
    return compiler.request("runpy:run_path", path_name=str(script))


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGFPE", "SIGABRT"])
def test_a_crash_names_its_signal_and_shows_the_last_words(
    scripted: tuple[Compiler, Path], name: str
) -> None:
    compiler, script = scripted
    code = f"import os, signal; os.write(2, b'last words\\n'); os.kill(os.getpid(), signal.{name})"
    with pytest.raises(WorkerCrash) as caught:
        run(compiler, script, code)
    assert caught.value.signal == name
    assert name in caught.value.message
    assert "last words" in caught.value.diagnostics
    assert caught.value.exit_code == 3
    assert compiler.compile("a.mlir", TEXT).functions, "a new worker serves the next request"


def test_a_text_that_overflows_mlirs_stack_is_a_crash_of_the_worker_only(compiler: Compiler) -> None:
    # no brackets, so the bound on nesting does not see it
    text = "#m = affine_map<(d0) -> (" + "- " * 200_000 + "d0)>\nfunc.func private @f()\n"
    with pytest.raises(WorkerCrash) as caught:
        compiler.parse("a.mlir", text)
    assert caught.value.signal == "SIGSEGV"
    assert compiler.parse("a.mlir", TEXT).functions


def test_an_exit_is_a_crash_without_a_signal(scripted: tuple[Compiler, Path]) -> None:
    compiler, script = scripted
    with pytest.raises(WorkerCrash, match="exit code 9") as caught:
        run(compiler, script, "import os; os._exit(9)")
    assert caught.value.signal is None


def test_a_hang_ends_at_the_time_limit(scripted: tuple[Compiler, Path]) -> None:
    compiler, script = scripted
    compiler.timeout_s = 1.5
    start = time.monotonic()
    with pytest.raises(WorkerCrash, match=r"within 1.5 s"):
        run(compiler, script, "while True: pass")
    assert time.monotonic() - start < 10


def test_hunger_ends_at_the_memory_limit(scripted: tuple[Compiler, Path]) -> None:
    compiler, script = scripted
    compiler.memory_limit_bytes = 400 * 2**20
    with pytest.raises(WorkerCrash, match="more than 400 MiB"):
        run(
            compiler,
            script,
            "import time\nheld = []\nwhile True: held.append(b'x' * 2**23); time.sleep(0.002)",
        )


def test_a_fault_in_a_handler_is_told_with_its_traceback(scripted: tuple[Compiler, Path]) -> None:
    compiler, script = scripted
    with pytest.raises(WorkerFault, match="ZeroDivisionError"):
        run(compiler, script, "1 / 0")
    with pytest.raises(WorkerFault, match="pickle"):
        run(compiler, script, "unpicklable = lambda: 0")


def test_our_own_errors_come_back_as_they_are(scripted: tuple[Compiler, Path]) -> None:
    compiler, script = scripted
    code = (
        "from aiepipe.errors import UsageError, WorkerCrash\n"
        "raise WorkerCrash('inner', signal='SIGBUS', remedy='none')"
    )
    with pytest.raises(WorkerCrash) as caught:
        run(compiler, script, code)
    assert (caught.value.message, caught.value.signal, caught.value.remedy) == ("inner", "SIGBUS", "none")
    with pytest.raises(UsageError, match="no compiler option"):
        compiler.compile("a.mlir", TEXT, flags=["x"])


def test_standard_error_is_captured_per_request(scripted: tuple[Compiler, Path]) -> None:
    compiler, _ = scripted
    assert compiler.output() == ""
    compiler.request("os:system", command="echo one >&2; echo two")
    assert compiler.output() == "one\ntwo\n"
    compiler.request("os:getpid")
    assert compiler.output() == ""


def test_a_worker_killed_between_requests_is_a_crash_once(scripted: tuple[Compiler, Path]) -> None:
    compiler, _ = scripted
    os.kill(int(compiler.request("os:getpid")), 9)
    with pytest.raises(WorkerCrash, match="SIGKILL"):
        compiler.request("os:getpid")
    assert compiler.request("os:getpid") != os.getpid()


def test_start_returns_at_once_and_the_worker_survives_a_close() -> None:
    compiler = Compiler()
    start = time.monotonic()
    compiler.start()
    compiler.start()
    assert time.monotonic() - start < 0.2
    first = compiler.request("os:getpid")
    compiler.close()
    compiler.close()
    assert compiler.request("os:getpid") != first
    compiler.close()


def test_the_worker_ends_with_its_parent(tmp_path: Path) -> None:
    code = (
        "import os\n"
        "from aiepipe.frontend.process import WorkerProcess\n"
        "worker = WorkerProcess()\n"
        "worker.request('os:getpid', {}, timeout_s=60, memory_limit_bytes=None)\n"
        "print(worker.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    deadline = time.monotonic() + 10
    while Path(f"/proc/{int(out)}").exists():
        assert time.monotonic() < deadline, "the worker outlives its parent"
        time.sleep(0.02)


def test_the_parent_imports_neither_iree_nor_mlir() -> None:
    code = (
        "import sys\n"
        "import aiepipe.frontend.compiler, aiepipe.hal.inspection, aiepipe.kernels\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'iree'])\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "[]\n"


def test_nothing_of_the_worker_reaches_our_own_output() -> None:
    code = (
        "from aiepipe.frontend.compiler import Compiler\n"
        "with Compiler() as compiler:\n"
        "    compiler.request('os:system', command='echo out; echo err >&2')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_file_called_like_a_module_in_the_working_directory_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit('imported from the working directory')")
    code = (
        "from aiepipe.frontend.process import WorkerProcess\n"
        "import os\n"
        f"os.chdir({str(tmp_path)!r})\n"
        "worker = WorkerProcess()\n"
        "print(worker.request('os:getcwd', {}, timeout_s=60, memory_limit_bytes=None))\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == tmp_path.resolve()


def test_closing_twice_is_harmless() -> None:
    worker = WorkerProcess()
    worker.close()
    worker.close()
