"""Core programs from assembly text, in designs that are written as register writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from aiepipe.emulator.machine import Machine, RunReport
from aiepipe.isa.assembler import Label, Statement, assemble
from aiepipe.npu.limits import PROGRAM_MEMORY_OFFSET
from aiepipe.npu.topology import TileAddress

from .designs import Ddr, Design

OWN_MEMORY = 0x70000
OWN_LOCK = 48


def program(design: Design, tile: TileAddress, *lines: str) -> None:
    """Puts a program into a core and lets it run. `name:` is a label; the program ends with `done`."""
    statements = [Label(line[:-1]) if line.endswith(":") else Statement(line) for line in lines]
    code = assemble([*statements, Statement("done")]).code
    padded = code + bytes(-len(code) % 4)
    design.data(tile, PROGRAM_MEMORY_OFFSET, np.frombuffer(padded, np.uint8))
    design.set(tile, "CORE_CONTROL", RESET=1)
    design.set(tile, "CORE_CONTROL", ENABLE=1)


def acquire(lock: int, value: int = -1) -> tuple[str, ...]:
    """Takes the core's lock id `lock`."""
    return (f"mova r15, #{value}", f"acq #{lock}, r15")


def release(lock: int, value: int = 1) -> tuple[str, ...]:
    """Gives the core's lock id `lock`."""
    return (f"mova r15, #{value}", f"rel #{lock}, r15")


def load(address: int, register: str = "r0") -> tuple[str, ...]:
    """A word of data memory, by the core's address."""
    return (f"movxm p0, #{address}", f"lda {register}, [p0, #0]")


def store(address: int, register: str = "r0") -> tuple[str, ...]:
    """A word of data memory, by the core's address."""
    return (f"movxm p1, #{address}", f"st {register}, [p1, #0]")


def run(design: Design, ddr: Ddr, *arguments: int, columns: int = 1, **options: Any) -> RunReport:
    """On a new machine; `options` are Machine's."""
    made = Machine(columns, ddr, **options)
    made.load(design.cdo)
    return made.run(design.stream, arguments)
