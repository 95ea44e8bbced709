"""A hostile file is only a file: mutated artifacts end in an error that says where, or in a bounded run.

`scripts/fuzz_artifacts.py` does the same a hundred thousand times.
"""

from __future__ import annotations

import io
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aiepipe.errors import AiepipeError
from aiepipe.flows.build import BuildOptions, build
from aiepipe.flows.device import RunSettings
from aiepipe.flows.disasm import DisasmOptions, disasm
from aiepipe.flows.dump import DumpOptions, dump
from aiepipe.flows.run import RunOptions, run
from aiepipe.formats import txn
from aiepipe.formats.cdo import Cdo, Command, DmaWrite, Nop, Write
from aiepipe.formats.txn import VERSION_1_0, Transaction
from aiepipe.isa.disassembly import reassemble
from aiepipe.report.dump import print_dump
from aiepipe.report.dump_json import print_dump_json, print_listing_json
from aiepipe.report.listing import print_listing

MATMUL = Path(__file__).resolve().parents[2] / "mlir" / "matmul.mlir"

slow_inputs = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

Edit = tuple[str, float, int]
edits = st.lists(
    st.tuples(
        st.sampled_from(["byte", "bit", "word", "cut", "put", "end"]),
        st.floats(0, 1, exclude_max=True),
        st.one_of(
            st.integers(0, 0xFFFFFFFF),
            st.sampled_from([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]),
        ),
    ),
    min_size=1,
    max_size=4,
)


def edited(data: bytes, changes: Sequence[Edit]) -> bytes:
    """`data` with bytes, bits and words changed, pieces lost or put in, or its end cut off."""
    found = bytearray(data)
    for kind, place, value in changes:
        at = int(place * place * len(found))  # headers are at the beginning
        match kind:
            case "byte" if found:
                found[at] = value & 0xFF
            case "bit" if found:
                found[at] ^= 1 << (value & 7)
            case "word" if len(found) >= 4:
                struct.pack_into("<I", found, min(at & ~3, len(found) - 4), value)
            case "cut":
                del found[at : at + 1 + value % 64]
            case "put":
                found[at:at] = value.to_bytes(4, "little")
            case _:
                del found[at:]
    return bytes(found)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The artifacts of our own matmul."""
    folder = tmp_path_factory.mktemp("built")
    build(BuildOptions(str(MATMUL), str(folder)))
    return artifacts(folder)


def artifacts(folder: Path) -> list[Path]:
    """Files that are some, by their names."""
    endings = (".xclbin", ".pdi", ".bin", ".txt", ".elf", ".vmfb")
    return sorted(file for file in folder.rglob("*") if file.suffix in endings)


def outcome(action: Callable[[], object]) -> AiepipeError | None:
    """The error of ours that the action ends with, if it does; anything else is the test's failure."""
    try:
        action()
    except AiepipeError as error:
        return error
    return None


def look_at(file: Path) -> None:
    """Everything that reads a file and shows it. Errors of ours have to say where."""
    for shown in (_dumped, _disassembled):
        error = outcome(partial(shown, file))
        assert error is None or (error.message and error.where() is not None)


def _dumped(file: Path) -> None:
    found = dump(DumpOptions(str(file)))
    print_dump(found, io.StringIO())
    print_dump_json(found, io.StringIO())


def _disassembled(file: Path) -> None:
    listing = disasm(DisasmOptions(str(file)))
    print_listing_json(listing, io.StringIO())
    for program in listing.programs[:1]:
        out = io.StringIO()
        print_listing(type(listing)(listing.file, listing.kind, (program,)), out)
        assert reassemble(out.getvalue()) == b"".join(line.raw for line in program.lines)


@slow_inputs
@given(data=st.data(), changes=edits)
def test_our_own_artifacts_changed_are_shown_or_refused(
    built: list[Path], tmp_path: Path, data: st.DataObject, changes: list[Edit]
) -> None:
    original = data.draw(st.sampled_from(built))
    file = tmp_path / "file"
    file.write_bytes(edited(original.read_bytes(), changes))
    look_at(file)


@slow_inputs
@given(data=st.data(), changes=edits)
def test_other_toolchains_artifacts_changed_are_shown_or_refused(
    corpus: Path, tmp_path: Path, data: st.DataObject, changes: list[Edit]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(edited(data.draw(st.sampled_from(artifacts(corpus))).read_bytes(), changes))
    look_at(file)


def run_options(folder: Path, container: bytes, stream: bytes) -> RunOptions:
    (folder / "x").write_bytes(container)
    (folder / "s").write_bytes(stream)
    return RunOptions(
        xclbin=str(folder / "x"),
        insts=str(folder / "s"),
        arguments=("in:64x16xi32=1", "in:16x64xi32=2", "out:64x64xi32"),
        settings=RunSettings(device="emulated", timeout_s=10.0),
    )


def pair(built: list[Path]) -> tuple[bytes, bytes]:
    """Our xclbin and its stream."""
    container = next(file for file in built if file.suffix == ".xclbin")
    return container.read_bytes(), next(f for f in built if f.name.endswith("npu_inst.bin")).read_bytes()


def test_unchanged_they_run(built: list[Path], tmp_path: Path) -> None:
    assert outcome(lambda: run(run_options(tmp_path, *pair(built)))) is None


@settings(slow_inputs, max_examples=12)
@given(changes=edits, target=st.sampled_from(["configuration", "stream"]))
def test_our_own_artifacts_changed_run_or_say_why_not(
    built: list[Path], tmp_path: Path, changes: list[Edit], target: str
) -> None:
    """On the emulated device, as `aiepipe run` does; whatever happens, it ends within its time limit."""
    container, stream = pair(built)
    if target == "configuration":
        # the middle of the file: commands and code, so that the headers are still right
        start, end = len(container) // 3, len(container) // 2
        changes = [edit for edit in changes if edit[0] in ("byte", "bit", "word")]
        container = container[:start] + edited(container[start:end], changes) + container[end:]
    else:
        stream = edited(stream, changes)
    error = outcome(lambda: run(run_options(tmp_path, container, stream)))
    assert error is None or error.message


# --------------------------------------------------------------------------- memory

COUNT = 30_000
BLOCK = (1, 2, 3, 4, 5, 6, 7, 8)


def configuration(*commands: Command) -> bytes:
    return Cdo(commands).encode()


AMPLIFIERS = {
    "empty": configuration(),
    "nops": configuration(*(Nop(),) * COUNT),
    "starts of a BD": configuration(*(Write(0x1A0604 + 8 * (i % 6), i % 48) for i in range(COUNT))),
    "small blocks": configuration(*(DmaWrite(0x220000, i.to_bytes(4, "little")) for i in range(COUNT))),
    "blocks of registers": configuration(*(DmaWrite(0x21F000, bytes(1024)) for _ in range(300))),
    "transfers": Transaction(
        (txn.BlockWrite(0x1D000, BLOCK), *(txn.Write32(0x1D214, (i & 0xFF) << 16) for i in range(COUNT))),
        VERSION_1_0,
    ).encode(),
    "a large block": configuration(DmaWrite(0x21E000, bytes(1 << 22))),
}
"""Files that ask for much to be told about little."""

MEASURE = """
import resource, sys
from aiepipe.cli import run_command
sys.stdout = open("/dev/null", "w")
code = run_command(["dump", sys.argv[1], *sys.argv[2:]])
sys.stderr.write(f"{code} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}")
"""


def peak_bytes(file: Path, *options: str) -> int:
    """Peak resident memory of `aiepipe dump FILE` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(file), *options], capture_output=True, text=True, check=True
    )
    code, kilobytes = done.stderr.split()
    assert code == "0"
    return int(kilobytes) * 1024


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_memory_stays_in_proportion_to_the_file(tmp_path: Path, options: tuple[str, ...]) -> None:
    """A description of a command of a dozen bytes takes Python some hundreds, and no more."""
    file = tmp_path / "file"
    peaks: dict[str, int] = {}
    for name, data in AMPLIFIERS.items():
        file.write_bytes(data)
        peaks[name] = peak_bytes(file, *options)
    for name, data in AMPLIFIERS.items():
        allowed = peaks["empty"] + (32 << 20) + 160 * len(data)
        assert peaks[name] < allowed, f"{name}: {peaks[name] >> 20} MiB for {len(data):,} bytes"
