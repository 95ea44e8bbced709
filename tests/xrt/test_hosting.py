"""Unmodified host programs as public projects write them, over other toolchains' binaries: right results
and nothing found; each with one sync taken out: found, at the line to blame."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from aiepipe.errors import UsageError
from aiepipe.verdict import Severity, SyncFinding
from aiepipe.xrt import emulated_pyxrt
from aiepipe.xrt.emulation import Settings
from aiepipe.xrt.hosting import run_script

from .programs import silicon

PROGRAMS = Path(__file__).parent / "host_programs"


@dataclass(frozen=True)
class HostProgram:
    """A program and the case of the corpus that it drives."""

    file: str
    case: str
    insts: str
    options: tuple[str, ...] = ()

    def arguments(self, corpus: Path) -> list[str]:
        paths = [str(corpus / self.case / "final.xclbin"), str(corpus / self.case / self.insts)]
        if not self.options:
            return paths
        return [word for pair in zip(self.options, paths, strict=True) for word in pair]


MLIR_AIE = HostProgram("mlir_aie_add.py", "add-bf16", "insts.bin", ("-x", "-i"))
MLIR_AIR = HostProgram("mlir_air_backend.py", "gemm256-i16-1core", "insts.bin")
TRITON = HostProgram("triton_xdna_launcher.py", "reduce-add-i32", "insts.txt")


def run(path: Path, arguments: list[str]) -> tuple[int, tuple[SyncFinding, ...]]:
    with emulated_pyxrt(Settings(seed=1)) as host:
        code = run_script(str(path), arguments, host)
    return code, host.findings


@pytest.mark.parametrize(
    "program",
    [MLIR_AIE, TRITON, pytest.param(MLIR_AIR, marks=pytest.mark.slow)],
    ids=lambda program: program.file,
)
def test_right_as_it_stands(corpus: Path, program: HostProgram, capsys: pytest.CaptureFixture[str]) -> None:
    code, findings = run(PROGRAMS / program.file, program.arguments(corpus))
    # mlir-air syncs its inputs back, too: right, and slower
    assert (code, [f for f in findings if f.severity is not Severity.PERFORMANCE]) == (0, [])
    assert capsys.readouterr().out == "PASS!\n"


AIR_TO = """                bo.write(array, 0)
                bo.sync(xrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE)"""
AIR_FROM = """            for bo in bos:
                bo.sync(xrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE)"""
AIR_INSTRUCTIONS = """        self.bo_instr.write(self.instr_v, 0)
        self.bo_instr.sync(xrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE)"""

# what is taken out (the line's last statement), the hazard, and the text of the line to blame
REMOVED = [
    (MLIR_AIE, "        a.to_npu()", "S001", "argument 3", "kernel(3, bo_instr"),
    (MLIR_AIE, "        c.to_npu()", "S002", "argument 5", "kernel(3, bo_instr"),
    (MLIR_AIE, "    bo_instr.sync(TO)", "S001", "instructions", "bo_instr.write("),
    (MLIR_AIE, "        self.bo.sync(FROM)", "S003", "argument 5", "np.frombuffer(self.bo.map()"),
    (TRITON, "            buffer.sync(TO_DEVICE)", "S001", "argument 3", "run.start()"),
    (TRITON, "            buffer.sync(TO_DEVICE)", "S002", "argument 4", "run.start()"),
    (TRITON, "        self.buffers[last].sync(FROM_DEVICE)", "S003", "argument 4", "buffer.map()"),
    (TRITON, "        self.bo_insts.sync(TO_DEVICE)", "S001", "instructions", "run.start()"),
    pytest.param(MLIR_AIR, AIR_TO, "S001", "argument 3", "bo.write(array, 0)", marks=pytest.mark.slow),
    pytest.param(MLIR_AIR, AIR_TO, "S002", "argument 5", "bo.write(array, 0)", marks=pytest.mark.slow),
    pytest.param(MLIR_AIR, AIR_FROM, "S003", "argument 5", "bo.read(size, 0)", marks=pytest.mark.slow),
    pytest.param(
        MLIR_AIR, AIR_INSTRUCTIONS, "S001", "instructions", "self.bo_instr.write", marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize(("program", "removed", "hazard", "buffer", "blamed"), REMOVED)
def test_one_sync_less_is_found_at_its_line(
    corpus: Path, tmp_path: Path, program: HostProgram, removed: str, hazard: str, buffer: str, blamed: str
) -> None:
    text = (PROGRAMS / program.file).read_text()
    assert text.count(removed + "\n") == 1
    *kept, last = removed.split("\n")
    indent = " " * (len(last) - len(last.lstrip()))
    path = tmp_path / program.file
    path.write_text(text.replace(removed + "\n", "\n".join([*kept, f"{indent}pass"]) + "\n"))
    _, findings = run(path, program.arguments(corpus))
    lines = {number for number, line in enumerate(text.split("\n"), 1) if blamed in line}
    sites = {f"{path}:{line}" for line in lines}
    found = [f for f in findings if f.hazard == hazard and f"({buffer} of" in f.buffer]
    assert found, [(f.hazard, f.buffer) for f in findings]
    places = {record.site for f in found for record in (f.prior, f.current) if record is not None}
    assert places & sites, (places, sites)


class TestAProgramAsMain:
    def script(self, tmp_path: Path, text: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(text)
        return str(path)

    def code_of(self, path: str, *arguments: str) -> int:
        with emulated_pyxrt(Settings(silicon=silicon())) as host:
            return run_script(path, arguments, host)

    def test_it_sees_its_name_arguments_folder_and_pyxrt(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "beside.py").write_text("VALUE = 5\n")
        path = self.script(
            tmp_path,
            "import sys, pyxrt, beside, pyxrt.ext\n"
            "print(__name__, sys.argv[1:], beside.VALUE, pyxrt.enumerate_devices(), sys.argv[0] == __file__)",
        )
        before = sys.modules["__main__"], sys.argv, list(sys.path)
        assert self.code_of(path, "--json", "-x") == 0
        assert capsys.readouterr().out == "__main__ ['--json', '-x'] 5 1 True\n"
        assert (sys.modules["__main__"], sys.argv, list(sys.path)) == before
        assert "pyxrt" not in sys.modules
        sys.modules.pop("beside")

    @pytest.mark.parametrize(
        ("ending", "code"),
        [("sys.exit()", 0), ("sys.exit(3)", 3), ("sys.exit(-1)", 255), ("sys.exit('no')", 1), ("1 / 0", 1)],
    )
    def test_its_exit_code_is_that_of_python(self, tmp_path: Path, ending: str, code: int) -> None:
        assert self.code_of(self.script(tmp_path, f"import sys\n{ending}\n")) == code

    def test_its_exception_is_shown_without_our_frames(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = self.script(tmp_path, "def f():\n    raise KeyError('x')\nf()\n")
        assert self.code_of(path) == 1
        told = capsys.readouterr().err.splitlines()
        assert told[:2] == ["Traceback (most recent call last):", f'  File "{path}", line 3, in <module>']
        assert told[-1] == "KeyError: 'x'"

    def test_what_is_no_program_is_a_usage_error(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cannot be read"):
            self.code_of(str(tmp_path / "absent.py"))
        with pytest.raises(UsageError, match="no Python program"):
            self.code_of(self.script(tmp_path, "def (\n"))
