"""Any artifact to its description, by content: `explain` is what `aiepipe dump` calls."""

from __future__ import annotations

from collections.abc import Callable

from ..description import Content
from ..errors import ArtifactError
from ..formats import cdo, elf
from ..formats.instructions import parse_instructions
from ..formats.kinds import ArtifactKind, artifact_kind
from .configuration import explain_cdo
from .container import explain_module, explain_pdi, explain_xclbin
from .packets import explain_control_packets, look_like_control_packets
from .program import explain_elf
from .stream import explain_stream

CONTROL_PACKETS = "control-packets"

EXPLAINERS: dict[str, Callable[[bytes], Content]] = {
    "xclbin": explain_xclbin,
    "pdi": explain_pdi,
    "cdo": lambda data: explain_cdo(cdo.parse(data), size_bytes=len(data)),
    "txn": lambda data: explain_stream(parse_instructions(data), data),
    "lx6": lambda data: explain_stream(parse_instructions(data), data),
    "elf": lambda data: explain_elf(elf.parse(data), len(data)),
    "vmfb": explain_module,
    CONTROL_PACKETS: explain_control_packets,
}
"""By the name that `--as` takes. Each raises ArtifactError."""

_NAMES = {
    ArtifactKind.XCLBIN: "xclbin",
    ArtifactKind.PDI: "pdi",
    ArtifactKind.CDO: "cdo",
    ArtifactKind.TXN: "txn",
    ArtifactKind.LX6: "lx6",
    ArtifactKind.CORE_ELF: "elf",
    ArtifactKind.VMFB: "vmfb",
}

UNDERSTOOD = (
    "xclbin, PDI, CDO, instruction stream (TXN 0.1 and 1.0, lx6; text or binary), core ELF, "
    "IREE module (.vmfb) with NPU kernels, control packets"
)


def kind_name(data: bytes) -> str:
    """What `data` is, as `--as` says it. Raises ArtifactError for what is not understood."""
    kind = artifact_kind(data)
    if kind is ArtifactKind.CONTROL_ELF:
        raise ArtifactError(
            "an ELF file, but not of an AIE core; control-code ELFs (aiebu) and host programs are not read",
            artifact="file",
            offset=0,
            remedy=f"understood: {UNDERSTOOD}",
        )
    if kind is not None:
        return _NAMES[kind]
    if look_like_control_packets(data):
        return CONTROL_PACKETS
    start = f"it begins with {data[:8].hex(' ')}" if data else "it is empty"
    raise ArtifactError(
        f"no artifact that is understood: {start}",
        artifact="file",
        offset=0,
        remedy=f"understood: {UNDERSTOOD}",
    )


def explain(data: bytes, name: str | None = None) -> Content:
    """The description of `data`, taken for a `name` of EXPLAINERS, or for what it looks like.

    Raises ArtifactError.
    """
    return EXPLAINERS[kind_name(data) if name is None else name](data)
