"""The program memories that the corpus holds, from its ELF files and from inside its xclbins."""

from __future__ import annotations

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from aiepipe.formats import cdo, pdi, xclbin

PROGRAM_MEMORY = range(0x20000, 0x24000)  # in a core tile's address space


@pytest.fixture(scope="session")
def programs(corpus: Path) -> dict[str, tuple[int, bytes]]:
    """Name -> byte address in program memory and bytes, for each executable section and loaded image."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(corpus.rglob("*.elf")):
        with path.open("rb") as file:
            for section in ELFFile(file).iter_sections():
                if section["sh_type"] == "SHT_PROGBITS" and section["sh_flags"] & 4:
                    name = f"{path.parent.name}/{path.name}{section.name}"
                    found[name] = (section["sh_addr"], section.data())
    for path in sorted(corpus.rglob("*.xclbin")):
        container = xclbin.parse(path.read_bytes())
        for kernel in container.kernels():
            for command in pdi.parse(container.pdi_for(kernel)).cdo.commands:
                if isinstance(command, cdo.DmaWrite) and command.address & 0xFFFFF in PROGRAM_MEMORY:
                    name = f"{path.parent.name}/{kernel.name}/{command.address:#x}"
                    address = (command.address & 0xFFFFF) - PROGRAM_MEMORY.start
                    found[name] = (address, command.data)
    return found
