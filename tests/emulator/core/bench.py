"""A core on a test bench: code from assembly text, memories, and a port that the test plays."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

from aiepipe.emulator.core import Core
from aiepipe.errors import ArtifactError
from aiepipe.isa.assembly import parse
from aiepipe.isa.encode import encode_bundle

Engine = Literal["plain", "jit"]
ENGINES: tuple[Engine, Engine] = ("plain", "jit")
PROGRAM_BYTES = 0x4000
OWN = 0x70000
Bytes = npt.NDArray[np.uint8]


def bundle(text: str, *, size: int | None = None) -> bytes:
    """One bundle from its statements, separated by ";"; an empty text is a short nop."""
    statements = [part.strip() for part in text.split(";") if part.strip()]
    if not statements and size is None:
        return b"\x01\x00"
    for chosen in product(*(parse(statement) for statement in statements)):
        if len({instruction.opcode.slot for instruction in chosen}) == len(chosen):
            try:
                return encode_bundle(chosen, size=size)
            except ArtifactError:
                continue
    raise ValueError(f"no bundle for {text!r}")


def assemble(*lines: str, base: int = 0) -> bytes:
    """Bundles in a row. `name:` aligns to 16 bytes with nops and names the place; `{name}` is its address.

    `|16|` before a bundle gives its size. Labels are resolved by assembling until addresses stay.
    """
    labels: dict[str, int] = {line[:-1]: 0 for line in lines if line.endswith(":")}
    for _ in range(4):
        code = bytearray()
        found: dict[str, int] = {}
        for line in lines:
            if line.endswith(":"):
                while (base + len(code)) % 16:
                    code += bundle("")
                found[line[:-1]] = base + len(code)
                continue
            size, text = None, line
            if line.startswith("|"):
                _, number, text = line.split("|", 2)
                size = int(number)
            for name, address in labels.items():
                text = text.replace("{" + name + "}", f"#{address}")
            code += bundle(text, size=size)
        if found == labels:
            return bytes(code)
        labels = found
    raise ValueError("labels do not settle")


class FakePort:
    """A tile's port that grants all, unless the test says otherwise."""

    def __init__(self) -> None:
        self.log: list[tuple[str, int, int]] = []
        self.grant = True
        self.words: list[tuple[int, bool]] = []
        self.sent: list[tuple[int, bool]] = []
        self.accepts = True
        self.cascade_in: list[bytes] = []
        self.cascade_out: list[bytes] = []

    def acquire(self, lock: int, value: int) -> bool:
        if self.grant:
            self.log.append(("acquire", lock, value))
        return self.grant

    def release(self, lock: int, value: int) -> bool:
        if self.grant:
            self.log.append(("release", lock, value))
        return self.grant

    def stream_get(self, port: int) -> tuple[int, bool] | None:
        return self.words.pop(0) if self.words else None

    def stream_put(self, port: int, word: int, tlast: bool) -> bool:
        if self.accepts:
            self.sent.append((word, tlast))
        return self.accepts

    def cascade_get(self) -> bytes | None:
        return self.cascade_in.pop(0) if self.cascade_in else None

    def cascade_put(self, data: bytes) -> bool:
        self.cascade_out.append(data)
        return True

    def event(self, number: int) -> None:
        self.log.append(("event", number, 0))

    def bus_read(self, address: int) -> int:
        self.log.append(("bus read", address, 0))
        return address + 1

    def bus_write(self, address: int, value: int) -> None:
        self.log.append(("bus write", address, value))


class Bench:
    """A core with own and South memory, running `code` from address 0."""

    def __init__(
        self, code: bytes, engine: Engine = "plain", *, core_id: int = 0, checked: bool = False
    ) -> None:
        self.program = bytearray(PROGRAM_BYTES)
        self.program[: len(code)] = code
        storage: Bytes = np.zeros(0x20000, np.uint8)
        self.own, self.shadow = storage[:0x10000], storage[0x10000:]
        south: Bytes = np.zeros(0x20000, np.uint8)
        self.south = south[:0x10000]
        self.port = FakePort()
        self.unwritten: list[tuple[int, int, int]] = []
        """Loads of bytes that nobody wrote: pc, address, size."""
        memories = (self.south, None, None, self.own)
        self.core = Core(
            "core (0,2)",
            self.port,
            self.program,
            memories,
            core_id=core_id,
            engine=engine,
            checks=self if checked else None,
        )

    def unwritten_load(self, pc: int, address: int, size: int) -> None:
        self.unwritten.append((pc, address, size))

    def set(self, registers: Mapping[str, int]) -> Bench:
        for name, value in registers.items():
            self.core.write_register(name, value)
        return self

    def step(self, bundles: int = 1) -> Bench:
        stop = self.core.run(bundles)
        assert stop.kind == "budget", stop
        return self

    def __getitem__(self, name: str) -> int:
        return self.core.read_register(name)


NOPS = ("",) * 12
"""Enough for everything to land."""


def execute(*lines: str, engine: Engine = "plain", registers: Mapping[str, int] | None = None) -> Bench:
    """Run bundles once, and then until nothing is in flight."""
    bench = Bench(assemble(*lines, *NOPS), engine).set(registers or {})
    return bench.step(sum(not line.endswith(":") for line in lines) + len(NOPS) - 1)
