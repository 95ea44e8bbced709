"""Mutates artifacts and parses them: each must end in a parse or in an ArtifactError, quickly.

    scripts/fuzz_formats.py [COUNT] [SEED] [CORPUS FOLDER]

COUNT mutations (default 100,000) are shared by all formats. When one fails, its seed and format are
printed with the call that repeats it, and the exit code is 1. Inputs are built here; with a folder of
real artifacts those are mutated too.
"""

from __future__ import annotations

import random
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aiepipe.errors import ArtifactError
from aiepipe.formats import cdo, control_packet, elf, metadata, partition, pdi, vmfb, xclbin
from aiepipe.formats.cdo import Cdo, DmaWrite, MaskWrite, Write
from aiepipe.formats.elf import CoreElf, Segment, Symbol
from aiepipe.formats.instructions import parse_instructions, to_binary, to_text
from aiepipe.formats.kinds import ArtifactKind, artifact_kind
from aiepipe.formats.lx6 import Lx6Stream, WriteBd
from aiepipe.formats.txn import BlockWrite, DdrPatch, MaskWrite32, Sync, Transaction, Write32
from aiepipe.formats.xclbin import SectionKind

SLOW_SECONDS = 2.0
"""A mutation of these small files that takes longer is a failure, too."""


def main(arguments: Sequence[str]) -> int:
    """Runs the mutations; 0 when all were handled."""
    count = int(arguments[0]) if arguments else 100_000
    first = int(arguments[1]) if len(arguments) > 1 else 0
    inputs = _inputs(Path(arguments[2]) if len(arguments) > 2 else None)
    names = sorted(inputs)
    accepted = dict.fromkeys(names, 0)
    for seed in range(first, first + count):
        name = names[seed % len(names)]
        rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
        data = _mutated(rng, rng.choice(inputs[name]))
        again = " ".join(("1", str(seed), *arguments[2:]))
        began = time.perf_counter()
        try:
            PARSERS[name](data)
            accepted[name] += 1
        except ArtifactError:
            pass
        except Exception as error:  # noqa: BLE001 - what this script looks for
            print(f"{name}: {type(error).__name__}: {error}; repeat with: fuzz_formats.py {again}")
            return 1
        if time.perf_counter() - began > SLOW_SECONDS:
            print(f"{name}: took over {SLOW_SECONDS} s; repeat with: fuzz_formats.py {again}")
            return 1
    shares = ", ".join(f"{name} {accepted[name]}" for name in names)
    print(f"{count} mutations from seed {first}, none unhandled; still parsed: {shares}")
    return 0


def _mutated(rng: random.Random, original: bytes) -> bytes:
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


# --------------------------------------------------------------------------- what is parsed


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


def _same(encoded: bytes, data: bytes) -> None:
    if encoded != data:
        raise AssertionError("parsed, but does not encode to the same bytes")


PARSERS: Mapping[str, Callable[[bytes], object]] = {
    "cdo": _cdo,
    "control packets": control_packet.parse,
    "elf": elf.parse,
    "instructions": _instructions,
    "metadata": metadata.parse,
    "partition": partition.parse,
    "pdi": _pdi,
    "vmfb": vmfb.parse,
    "xclbin": _xclbin,
}

_KINDS = {
    ArtifactKind.XCLBIN: "xclbin",
    ArtifactKind.PDI: "pdi",
    ArtifactKind.CDO: "cdo",
    ArtifactKind.TXN: "instructions",
    ArtifactKind.LX6: "instructions",
    ArtifactKind.CORE_ELF: "elf",
    ArtifactKind.VMFB: "vmfb",
}


def _inputs(corpus: Path | None) -> dict[str, list[bytes]]:
    writes = Cdo((DmaWrite(0x220000, bytes(64)), Write(0x21F000, 1), MaskWrite(0x232000, 1, 1)))
    image = pdi.from_files([writes.for_file()]).encode()
    container = xclbin.build(image, kernel="kernel", buffers=3)
    core = CoreElf((Segment(0, bytes(64), 64, True),), (Symbol("core", 0, 64, "function", ".text"),))
    stream = Transaction(
        (
            BlockWrite(0x1D000, (1, 2, 3, 4, 5, 6, 7, 8)),
            DdrPatch(0x1D004, 0, 0),
            Write32(0x1D214, 0),
            MaskWrite32(0x1D200, 0xF00, 0x1F00),
            Sync(0, 0, 0, 0),
        )
    )
    old = Lx6Stream((WriteBd(0, 1, 0, 0, (1, 2, 3, 4, 5, 6, 7, 8)),))
    executable = b"PK\3\4" + bytes(12) + (64).to_bytes(8, "little") + b"\x08\0\0\0XRTR" + bytes(56)
    inputs = {
        "cdo": [writes.encode()],
        "control packets": [bytes.fromhex("00f001000200000020f0b10903000000040000000500000006000000")],
        "elf": [core.encode()],
        "instructions": [stream.encode(), to_text(stream).encode(), old.encode()],
        "metadata": [container.section(SectionKind.EMBEDDED_METADATA).data],
        "partition": [container.section(SectionKind.AIE_PARTITION).data],
        "pdi": [image],
        "vmfb": [executable],
        "xclbin": [container.encode()],
    }
    for file in sorted(corpus.rglob("*")) if corpus is not None else ():
        data = file.read_bytes() if file.is_file() else b""
        name = _KINDS.get(artifact_kind(data) or ArtifactKind.CONTROL_ELF)
        if name is not None:
            inputs[name].append(data)
    return inputs


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
