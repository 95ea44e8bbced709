"""Mutates artifacts of every kind, reads, explains, disassembles and runs them: each ends as it should.

    scripts/fuzz_artifacts.py [--count N] [--runs N] [--seed N] [--seconds S] [--corpus FOLDER]

COUNT mutations are parsed (what parses encodes to the same bytes), every second is explained as text and
JSON, every tenth disassembled (the listing assembles to the same bytes). RUNS mutated pairs of xclbin and
instruction stream run on the emulator with a step limit. Each must end in a result or in an AiepipeError
that says where, within time and memory. Inputs are built here from mlir/matmul.mlir; with a folder of real
artifacts those are mutated too. Exit code 1 when one fails, after the call that repeats it.

Trials run in a worker process that is watched: a crash or hang of it is a failure of the trial it was at.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from aiepipe.description import Dump, Listing
from aiepipe.emulator.machine import Machine
from aiepipe.errors import AiepipeError, ArtifactError, EmulationError
from aiepipe.explain.artifact import explain, kind_name
from aiepipe.explain.listing import LISTERS, list_programs
from aiepipe.flows.build import BuildOptions, build
from aiepipe.formats import cdo, control_packet, elf, metadata, partition, pdi, txn, vmfb, xclbin
from aiepipe.formats.cdo import Cdo, Command, DmaWrite, MaskWrite, Write
from aiepipe.formats.instructions import InstructionStream, parse_instructions, to_binary, to_text
from aiepipe.formats.lx6 import Lx6Stream, WriteBd
from aiepipe.formats.txn import Transaction
from aiepipe.formats.xclbin import SectionKind
from aiepipe.isa.disassembly import reassemble
from aiepipe.npu.limits import COLUMNS
from aiepipe.report.dump import print_dump
from aiepipe.report.dump_json import print_dump_json, print_listing_json
from aiepipe.report.listing import print_listing

REPOSITORY = Path(__file__).resolve().parent.parent

SLOW_SECONDS = {"read": 5.0, "run": 240.0}
"""A trial that takes more processor time is a failure, too. The inputs are small; loading a configuration
lets endless cores run for 200,000 bundles, which takes the plain engine minutes where they are wide."""

HANG_SECONDS = 600.0
MOST_MEMORY_BYTES = 3 << 30
WORKER_TRIALS = {"read": 4000, "run": 50}
"""A worker is replaced after so many trials: what it caches is not a leak of one of them."""

STEPS = {"jit": 50_000, "plain": 500}
RUN_DEADLINE_SECONDS = 20.0
BUFFER_BYTES = 1 << 18
BUFFERS = 5

_RENDERED_BYTES = 1 << 17
"""Larger files are parsed and explained; rendering them would only cost time."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What a run needs."""

    name: str
    xclbin: bytes
    stream: bytes


@dataclass(frozen=True, slots=True)
class Inputs:
    """Unmutated artifacts: by parser, and pairs that run."""

    files: Mapping[str, Sequence[bytes]]
    pairs: Sequence[Pair]


def main(arguments: Sequence[str]) -> int:
    """Runs the trials; 0 when all were handled."""
    options = _parser().parse_args(arguments)
    if options.worker is not None:
        return _work(options.worker, Path(options.folder), options.seed, options.count, options.corpus)
    print(f"seed {options.seed}", flush=True)
    began = time.monotonic()
    deadline = None if options.seconds is None else began + options.seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["AIEPIPE_CACHE_DIR"] = str(folder / "cache")
        build(BuildOptions(str(REPOSITORY / "mlir" / "matmul.mlir"), str(folder / "built")))
        for what, count in (("run", options.runs), ("read", options.count)):
            if not _trials(what, folder, options.seed, count, options.corpus, deadline):
                return 1
    print(f"none unhandled, {time.monotonic() - began:.0f} s")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Mutates artifacts and reads, explains and runs them.")
    parser.add_argument("--count", type=int, default=100_000, help="mutations that are read")
    parser.add_argument("--runs", type=int, default=500, help="mutated pairs that are run")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first trial of each kind")
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--corpus", help="a folder of real artifacts")
    parser.add_argument("--worker", choices=sorted(SLOW_SECONDS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser


# --------------------------------------------------------------------------- watching


def _trials(
    what: str, folder: Path, first: int, count: int, corpus: str | None, deadline: float | None
) -> bool:
    """All trials of one kind in workers one after the other; False when one failed."""
    done = 0
    while done < count and (deadline is None or time.monotonic() < deadline):
        some = min(count - done, WORKER_TRIALS[what])
        if not _watch(what, folder, first + done, some, corpus):
            return False
        done += some
    print(f"{what}: {done} trials from seed {first}", flush=True)
    return True


def _watch(what: str, folder: Path, first: int, count: int, corpus: str | None) -> bool:
    """One worker: False when it reported a failure, died, or stood still."""
    marker = folder / "trial"
    marker.write_bytes(b"%020d" % first)
    command = [sys.executable, __file__, "--worker", what, "--folder", str(folder)]
    command += [
        "--seed",
        str(first),
        "--count",
        str(count),
        *([] if corpus is None else ["--corpus", corpus]),
    ]
    with subprocess.Popen(command) as worker:  # the same script
        at, since = b"", time.monotonic()
        while True:
            try:
                code = worker.wait(timeout=1.0)
                break
            except subprocess.TimeoutExpired:
                now = marker.read_bytes()
                if now != at:
                    at, since = now, time.monotonic()
                elif time.monotonic() - since > HANG_SECONDS:
                    worker.kill()
                    code = worker.wait()
                    break
    if code == 0:
        return True
    if code != 1:  # 1: it has said what failed
        seed = int(marker.read_bytes())
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        print(f"{what} {seed}: the worker ended with {how}; repeat with: {_again(what, seed, corpus)}")
    return False


def _again(what: str, seed: int, corpus: str | None) -> str:
    counts = "--count 1 --runs 0" if what == "read" else "--count 0 --runs 1"
    return f"fuzz_artifacts.py {counts} --seed {seed}" + ("" if corpus is None else f" --corpus {corpus}")


def _work(what: str, folder: Path, first: int, count: int, corpus: str | None) -> int:
    """The worker: trials one after the other; 1 after the first that failed."""
    resource.setrlimit(resource.RLIMIT_AS, (4 * MOST_MEMORY_BYTES, 4 * MOST_MEMORY_BYTES))
    inputs = _inputs(folder / "built", None if corpus is None else Path(corpus))
    marker = os.open(folder / "trial", os.O_RDWR)
    trial = _read_trial if what == "read" else _run_trial
    for seed in range(first, first + count):
        os.pwrite(marker, b"%020d" % seed, 0)
        began = time.process_time()  # others may use the machine, too
        name = ""
        try:
            name, failure = trial(random.Random(seed), inputs)  # noqa: S311 - repeatable, not secret
        except Exception as error:  # noqa: BLE001 - what this script looks for
            failure = f"{type(error).__name__}: {error}"
        took = time.process_time() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if failure is None and took > SLOW_SECONDS[what]:
            failure = f"took {took:.1f} s"
        if failure is None and memory > MOST_MEMORY_BYTES:
            failure = f"the process has {memory >> 20} MiB"
        if failure is not None:
            print(f"{what} {seed} {name}: {failure}; repeat with: {_again(what, seed, corpus)}", flush=True)
            return 1
    return 0


# --------------------------------------------------------------------------- reading


def _read_trial(rng: random.Random, inputs: Inputs) -> tuple[str, str | None]:
    """Mutates one file and reads it every way there is."""
    name = rng.choice(sorted(inputs.files))
    data = mutated(rng, rng.choice(inputs.files[name]))
    for share, read in ((1.0, PARSERS[name]), (0.5, _explained), (0.1, _disassembled)):
        if rng.random() > share:
            continue
        try:
            read(data)
        except AiepipeError as error:
            if error.where() is None:
                return name, f"the error does not say where: {error.message}"
    return name, None


def _explained(data: bytes) -> None:
    kind = kind_name(data)
    dump = Dump("file", kind, len(data), "", explain(data, kind))
    if len(data) <= _RENDERED_BYTES:
        out = io.StringIO()
        print_dump(dump, out)
        _check_printable(out.getvalue())
        print_dump_json(dump, io.StringIO())


def _disassembled(data: bytes) -> None:
    kind = kind_name(data)
    if kind not in LISTERS:
        return
    for program in list_programs(data, kind)[:2]:
        out = io.StringIO()
        listing = Listing("file", kind, (program,))
        print_listing(listing, out, raw=True)
        _check_printable(out.getvalue())
        print_listing_json(listing, io.StringIO())
        code = b"".join(line.raw for line in program.lines)
        if reassemble(out.getvalue()) != code:
            raise AssertionError("the listing does not assemble to the same bytes")


def _check_printable(text: str) -> None:
    if not all(line.isprintable() for line in text.split("\n")):
        raise AssertionError("the text holds characters that steer a terminal")


def _xclbin(data: bytes) -> None:
    found = xclbin.parse(data)
    _same(found.encode(), data)
    found.memory_banks()
    for kernel in found.kernels():
        pdi.parse(found.pdi_for(kernel))


def _pdi(data: bytes) -> None:
    _same(pdi.parse(data).encode(), data)


def _cdo(data: bytes) -> None:
    _same(cdo.parse(data).encode(), data)


def _instructions(data: bytes) -> None:
    _same(parse_instructions(data).encode(), to_binary(data))


def _control_packets(data: bytes) -> None:
    for headers in (False, True):
        with contextlib.suppress(ArtifactError):
            _same(control_packet.encode(control_packet.parse(data, stream_headers=headers)), data)


def _same(encoded: bytes, data: bytes) -> None:
    if encoded != data:
        raise AssertionError("parsed, but does not encode to the same bytes")


PARSERS: Mapping[str, Callable[[bytes], object]] = {
    "cdo": _cdo,
    "control-packets": _control_packets,
    "elf": elf.parse,
    "instructions": _instructions,
    "metadata": metadata.parse,
    "partition": partition.parse,
    "pdi": _pdi,
    "vmfb": vmfb.parse,
    "xclbin": _xclbin,
}


# --------------------------------------------------------------------------- running


class Ddr:
    """Buffers of zeros and ones, 64 KiB apart."""

    def __init__(self) -> None:
        self.buffers: dict[int, npt.NDArray[np.uint8]] = {}

    def add(self, size_bytes: int) -> int:
        """A new buffer; its address."""
        address = 0x4000_0000 + len(self.buffers) * (size_bytes + 0x10000)
        self.buffers[address] = np.ones(size_bytes, np.uint8)
        return address

    def read(self, address: int, length: int) -> npt.NDArray[np.uint8]:
        for start, buffer in self.buffers.items():
            if start <= address and address + length <= start + buffer.size:
                return buffer[address - start : address - start + length]
        raise EmulationError(
            f"no buffer holds {length} bytes at {address:#x}", kind="out-of-range", tile="DDR"
        )

    def write(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        self.read(address, data.size)[:] = data


def _run_trial(rng: random.Random, inputs: Inputs) -> tuple[str, str | None]:
    """Mutates configuration, code or stream of a pair and runs it, twice without loading again."""
    pair = rng.choice(inputs.pairs)
    engine = "plain" if rng.random() < 0.1 else "jit"
    configuration = pdi.parse(xclbin.parse(pair.xclbin).partition().pdis[0].image).cdo
    stream = parse_instructions(pair.stream)
    match rng.randrange(4):
        case 0:
            configuration = _mutated_configuration(rng, configuration)
        case 1:
            stream = _mutated_stream(rng, stream)
        case 2:  # somebody else's stream
            stream = parse_instructions(rng.choice(inputs.pairs).stream)
        case _:
            configuration, stream = _mutated_configuration(rng, configuration), _mutated_stream(rng, stream)
    ddr = Ddr()
    arguments = [ddr.add(BUFFER_BYTES) for _ in range(BUFFERS)]
    name = f"{pair.name} ({engine})"
    try:
        machine = Machine(COLUMNS, ddr, engine="jit" if engine == "jit" else "plain")
        machine.load(configuration)
        for _ in range(2):
            deadline = time.monotonic() + RUN_DEADLINE_SECONDS
            machine.run(stream, arguments, step_limit=STEPS[engine], deadline=deadline)
    except AiepipeError as error:
        if not error.message:
            return name, "an error without a message"
    return name, None


def _mutated_configuration(rng: random.Random, found: Cdo) -> Cdo:
    """Values, masks, addresses, code and data of some commands changed; commands lost, doubled, swapped."""
    commands = list(found.commands)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(commands))
        match rng.randrange(8):
            case 0:
                del commands[at]
            case 1:
                commands.insert(rng.randrange(len(commands)), commands[at])
            case 2:
                other = rng.randrange(len(commands))
                commands[at], commands[other] = commands[other], commands[at]
            case _:
                commands[at] = _mutated_command(rng, commands[at])
        commands = commands or [Write(0, 0)]
    return Cdo(tuple(commands))


def _mutated_command(rng: random.Random, command: Command) -> Command:
    match command:
        case Write(address, value):
            if rng.random() < 0.2:
                return replace(command, address=_word(rng, address))
            return replace(command, value=_word(rng, value))
        case MaskWrite(_, mask, value):
            return replace(command, mask=_word(rng, mask), value=_word(rng, value))
        case DmaWrite(address, data):
            if rng.random() < 0.1 or not data:
                return replace(command, address=_word(rng, address))
            changed = bytearray(data)
            for _ in range(rng.choice((1, 2, 8))):
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            return replace(command, data=bytes(changed))
        case _:
            return command


def _mutated_stream(rng: random.Random, found: InstructionStream) -> InstructionStream:
    """Some words of the binary stream changed, and parsed again where that is possible."""
    words = bytearray(found.encode())
    start = 4 * (len(found.prologue) if isinstance(found, Lx6Stream) else 4)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if len(words) > start:
            at = rng.randrange(start, len(words)) & ~3
            struct.pack_into("<I", words, at, _word(rng, struct.unpack_from("<I", words, at)[0]))
    try:
        return parse_instructions(bytes(words))
    except ArtifactError:
        ops = list(found.ops)
        rng.shuffle(ops)
        if isinstance(found, Lx6Stream):
            return replace(found, ops=tuple(op for op in ops if not isinstance(op, txn.Operation)))
        return replace(found, ops=tuple(op for op in ops if isinstance(op, txn.Operation)))


def _word(rng: random.Random, word: int) -> int:
    """A word near to the given one, or an extreme."""
    if rng.random() < 0.6:
        return word ^ 1 << rng.randrange(32)
    return rng.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, rng.getrandbits(32)))


# --------------------------------------------------------------------------- mutation and inputs


def mutated(rng: random.Random, original: bytes) -> bytes:
    """Bytes changed, words set to extremes, pieces lost and put in."""
    data = bytearray(original)
    for _ in range(rng.choice((1, 1, 2, 4))):
        # headers are at the beginning, so half of the places are there
        at = rng.randrange(len(data) if rng.random() < 0.5 else min(len(data), 1000))
        match rng.randrange(5):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                data[at] ^= 1 << rng.randrange(8)
            case 2 if len(data) > 8:
                extreme = rng.choice(
                    (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, len(data), rng.getrandbits(32))
                )
                struct.pack_into("<I", data, min(at & ~3, len(data) - 4), extreme)
            case 3:
                del data[at : at + rng.choice((1, 4, 16, 1000))]
            case _:
                data[at:at] = rng.randbytes(rng.choice((1, 4, 8)))
        data = data or bytearray(1)
    return bytes(data)


_PARSER_OF = {"txn": "instructions", "lx6": "instructions"}


def _inputs(built: Path, corpus: Path | None) -> Inputs:
    old = Lx6Stream((WriteBd(0, 1, 0, 0, (1, 2, 3, 4, 5, 6, 7, 8)),))
    packets = bytes.fromhex("00f001000200000020f0b10903000000040000000500000006000000")
    executable = b"PK\3\4" + bytes(12) + (64).to_bytes(8, "little") + b"\x08\0\0\0XRTR" + bytes(56)
    files: dict[str, list[bytes]] = {name: [] for name in PARSERS}
    files["instructions"].append(old.encode())
    files["control-packets"].append(packets)
    files["vmfb"].append(executable)
    pairs: list[Pair] = []
    for folder in (built, *([] if corpus is None else [corpus])):
        for file in sorted(folder.rglob("*")):
            data = file.read_bytes() if file.is_file() else b""
            try:
                kind = kind_name(data)
            except ArtifactError:
                continue
            files[_PARSER_OF.get(kind, kind)].append(data)
            if kind == "xclbin":
                pairs += _pairs(file)
                container = xclbin.parse(data)
                files["metadata"].append(container.section(SectionKind.EMBEDDED_METADATA).data)
                files["partition"].append(container.section(SectionKind.AIE_PARTITION).data)
    streams = [data for data in files["instructions"] if isinstance(parse_instructions(data), Transaction)]
    files["instructions"] += [to_text(to_binary(data)).encode() for data in streams[:1]]
    return Inputs(files, pairs)


def _pairs(container: Path) -> list[Pair]:
    """The xclbin with each stream beside it."""
    found: list[Pair] = []
    for file in sorted(container.parent.iterdir()):
        data = file.read_bytes() if file.is_file() else b""
        try:
            parse_instructions(data)
        except ArtifactError:
            continue
        found.append(Pair(container.parent.name, container.read_bytes(), data))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
