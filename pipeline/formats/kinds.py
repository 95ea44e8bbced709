"""What kind of artifact a file is, by its content: names and extensions lie."""

from __future__ import annotations

import enum

from . import elf, instructions, lx6, pdi, txn, vmfb, xclbin
from .cdo import is_cdo

_ELF_MACHINE_AT = 18


class ArtifactKind(enum.Enum):
    """Kinds that we read; the value is what people call them."""

    XCLBIN = "xclbin"
    PDI = "PDI"
    CDO = "CDO"
    TXN = "TXN instruction stream"
    LX6 = "lx6 instruction stream"
    CORE_ELF = "core ELF"
    CONTROL_ELF = "control-code ELF (aiebu)"
    """Known by name only: the full-ELF flow of newer XRT, which npu1 does not need."""
    VMFB = "IREE module"


def artifact_kind(data: bytes) -> ArtifactKind | None:
    """The kind of `data` by its first bytes; None where it is none of them."""
    for kind, begins in (
        (ArtifactKind.XCLBIN, xclbin.is_xclbin),
        (ArtifactKind.PDI, pdi.is_pdi),
        (ArtifactKind.CDO, is_cdo),
        (ArtifactKind.VMFB, vmfb.is_vmfb),
    ):
        if begins(data):
            return kind
    if elf.is_elf(data):
        machine = int.from_bytes(data[_ELF_MACHINE_AT : _ELF_MACHINE_AT + 2], "little")
        return ArtifactKind.CORE_ELF if machine == elf.MACHINE_AIE else ArtifactKind.CONTROL_ELF
    start = instructions.first_words(data)
    if lx6.is_lx6(start):
        return ArtifactKind.LX6
    return ArtifactKind.TXN if txn.is_transaction(start) else None
