"""From a design and its instruction stream to the artifact: CDO, PDI, core ELF, xclbin, listings.

Everything follows from the bytes: the uuids of an xclbin are made from its content, times are given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..errors import UnsupportedOp
from ..formats import pdi, xclbin
from ..formats.elf import CoreElf, Segment, Symbol
from ..formats.instructions import to_text
from ..isa.assembler import CodeImage
from ..npu.topology import OWN_DATA_BASE
from ..program import Artifact, CallingConvention, Dispatch
from . import aie_dialect
from .configuration import configure
from .lowering import Lowered
from .options import CompileOptions

BACKEND = "builtin"

KERNEL_CHARACTERS = 42
"""iree-amd-aie cuts names here, so that name, ordinal and `:IREE` stay within IP_LAYOUT's 64 bytes."""

INSTANCE = "IREE"
"""The kernel's instance in the xclbin, as iree-amd-aie names it."""

JOINT_XCLBIN = "program.xclbin"
"""The file of several kernels' one xclbin."""

ASM_ENDING, AIE_ENDING = ".s", ".aie.mlir"
"""Of the annotated assembly, and of the design in the aie dialect."""

BUFFERS_MAXIMUM = 6
"""Data buffers of a kernel (iree-amd-aie's kernels.json: bo0 to bo5)."""


def entry_name(dispatch: str, ordinal: int) -> str:
    """The kernel's name and the stem of its files: letters, digits and underscores only."""
    return f"{re.sub(r'[^A-Za-z0-9_]', '_', dispatch)[:KERNEL_CHARACTERS]}_{ordinal}"


def package(dispatch: Dispatch, lowered: Lowered, options: CompileOptions) -> Artifact:
    """Raises UnsupportedOp for too many buffers."""
    if len(dispatch.bindings) > BUFFERS_MAXIMUM:
        raise UnsupportedOp(
            f"dispatch {dispatch.name} has {len(dispatch.bindings)} buffers, a kernel has {BUFFERS_MAXIMUM}",
            location=dispatch.location,
            op="dispatch",
        )
    entry = entry_name(dispatch.name, options.ordinal)
    positions = {binding.index: position for position, binding in enumerate(dispatch.bindings)}
    stream = lowered.control.transaction(positions)
    configuration = configure(lowered.design)
    cdo_files = {name: cdo.for_file() for name, cdo in configuration.files.items()}
    image = pdi.from_files(tuple(cdo_files.values())).encode()
    container = xclbin.build(
        image,
        kernel=entry,
        buffers=len(dispatch.bindings),
        columns=lowered.design.columns,
        instance=INSTANCE,
        timestamp=options.source_date_epoch,
    ).encode()
    instructions = stream.encode()
    files = {
        f"{entry}.xclbin": container,
        f"{entry}.npu_inst.txt": to_text(instructions).encode(),
        f"{entry}.npu_inst.bin": instructions,
        "design.pdi": image,
        **{name: cdo.encode() for name, cdo in cdo_files.items()},
    }
    if options.aie:
        files[f"{entry}{AIE_ENDING}"] = aie_dialect.module(
            lowered.design, stream, dispatch.bindings, title=_title(dispatch, lowered)
        ).encode()
    if lowered.image is not None:
        for tile, part in lowered.design.tiles.items():
            if part.code:
                files[f"core_{tile.column}_{tile.row}.elf"] = _elf(lowered.image, part.data).encode()
        files[f"{entry}{ASM_ENDING}"] = _listing(dispatch, lowered, lowered.image.listing).encode()
    return Artifact(
        dispatch=dispatch.name,
        entry=entry,
        kernel=entry,
        xclbin=container,
        instructions=instructions,
        bindings=dispatch.bindings,
        convention=CallingConvention.TXN,
        backend=BACKEND,
        files=files,
        notes=lowered.notes,
    )


def link(artifacts: Sequence[Artifact]) -> tuple[Artifact, ...]:
    """One xclbin for kernels that `package` made: a program then runs in one hardware context, of which npu1
    has six, and the firmware loads a kernel's PDI when its turn comes. A single one stays as it is."""
    if len(artifacts) < 2:
        return tuple(artifacts)
    alone = [xclbin.parse(artifact.xclbin) for artifact in artifacts]
    parts = [
        xclbin.KernelPart(
            container.pdi_for(artifact.kernel),
            artifact.kernel,
            len(artifact.bindings),
            INSTANCE,
            xclbin.FIRST_KERNEL_ID + number,
        )
        for number, (artifact, container) in enumerate(zip(artifacts, alone, strict=True))
    ]
    columns = max(container.partition().column_width for container in alone)
    joint = xclbin.build_several(parts, columns=columns, timestamp=alone[0].timestamp).encode()
    return tuple(replace(a, xclbin=joint, files=_with_joint(a, joint)) for a in artifacts)


def _with_joint(artifact: Artifact, joint: bytes) -> dict[str, bytes]:
    """The artifact's files with the joint xclbin in place of its own."""
    own = f"{artifact.entry}.xclbin"
    return {JOINT_XCLBIN: joint} | {name: data for name, data in artifact.files.items() if name != own}


def _elf(image: CodeImage, constants: Mapping[int, bytes]) -> CoreElf:
    code = Segment(0, image.code, len(image.code), executable=True)
    data = (Segment(OWN_DATA_BASE + offset, value, len(value)) for offset, value in constants.items())
    names = tuple(Symbol(name, address, section=".text") for name, address in image.labels.items())
    return CoreElf((code, *data), names, comment=f"aiepipe {BACKEND}")


def _listing(dispatch: Dispatch, lowered: Lowered, lines: tuple[str, ...]) -> str:
    head = "".join(f"// {line}\n" for line in _title(dispatch, lowered))
    return head + "".join(f"{_annotated(line)}\n" for line in lines)


def _annotated(line: str) -> str:
    """An empty bundle says why it is there."""
    return f"{line}  // wait: a latency or a delay slot" if line.endswith("  nop") else line


def _title(dispatch: Dispatch, lowered: Lowered) -> tuple[str, ...]:
    """What a listing is of, and what was chosen."""
    cores = [str(tile) for tile, part in lowered.design.tiles.items() if part.code]
    return (f"{', '.join(cores) or 'no core'} of {dispatch.name}, {dispatch.location}", *lowered.notes)
