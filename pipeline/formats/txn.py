"""TXN: the transaction stream of register writes, waits and patches that npu1's firmware executes.

Two versions: 0.1, written by mlir-aie and, with other padding, by aie-rt; and 1.0, the "optimized" form
of aie-rt and of mlir-aie between Aug 2024 and Mar 2025. What differs in bytes without a meaning (padding,
junk in unused parts of words) is kept, so that `parse(data).encode() == data`. Sources: aie-rt's
xaie_txn.h and aie-rt's serializer (MIT), mlir-aie's tests, checked on 44 real streams (facts/formats.md
section 3). The operations stand in
`txn_operations.py`, how each is laid out in `txn_layout.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from .reader import WRONG_LENGTH, Reader
from .txn_layout import VERSION_0_1, VERSION_1_0, decode_operation, encode_operation
from .txn_operations import (
    BlockWrite,
    CreateScratchpad,
    CustomOp,
    DdrPatch,
    LoadPdi,
    LoadPmStart,
    MaskPoll,
    MaskWrite32,
    MergeSync,
    Noop,
    Operation,
    Preempt,
    ReadRegisters,
    RecordTimer,
    Sync,
    UpdateRegister,
    UpdateScratch,
    UpdateState,
    Write32,
)

__all__ = [
    "DEVICE_NPU1",
    "DEVICE_NPU2",
    "VERSION_0_1",
    "VERSION_1_0",
    "BlockWrite",
    "CreateScratchpad",
    "CustomOp",
    "DdrPatch",
    "LoadPdi",
    "LoadPmStart",
    "MaskPoll",
    "MaskWrite32",
    "MergeSync",
    "Noop",
    "Operation",
    "Preempt",
    "ReadRegisters",
    "RecordTimer",
    "Sync",
    "Transaction",
    "UpdateRegister",
    "UpdateScratch",
    "UpdateState",
    "Write32",
    "encode_operation",
    "is_transaction",
    "parse",
]

HEADER_BYTES = 16
DEVICE_NPU1, DEVICE_NPU2 = 3, 4
"""Device generations in the header: Phoenix and Hawk Point; Strix and Krackan (AIE2P)."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """A stream: the device it is for and its operations.

    `generation` 3 is npu1, 4 npu2 (2 in aie-rt's unit tests); `columns` are those of the device or
    partition. Addresses are column << 25 | row << 20 | offset, columns of the partition.
    """

    ops: tuple[Operation, ...]
    version: tuple[int, int] = VERSION_0_1
    generation: int = DEVICE_NPU1
    rows: int = 6
    columns: int = 4
    memory_rows: int = 1
    spare: int = 0

    def encode(self) -> bytes:
        """The binary stream. Raises ValueError where an operation does not fit this version."""
        body = b"".join(encode_operation(op, self.version) for op in self.ops)
        head = bytes((*self.version, self.generation, self.rows, self.columns, self.memory_rows))
        counts = (len(self.ops), HEADER_BYTES + len(body))
        return (
            head + self.spare.to_bytes(2, "little") + b"".join(n.to_bytes(4, "little") for n in counts) + body
        )

    def require_npu1(self) -> None:
        """Raises ArtifactError when the stream is for another device."""
        if self.generation == DEVICE_NPU2:
            Reader(b"", "TXN stream").fail(
                "this stream is for npu2 (Strix, Krackan: AIE2P), not for npu1 (Phoenix)",
                2,
                remedy="compile for npu1, or use a device of that generation",
            )


def is_transaction(data: bytes) -> bool:
    """Whether `data` begins like a TXN stream."""
    return len(data) >= 4 and tuple(data[:2]) in (VERSION_0_1, VERSION_1_0) and data[2] in range(1, 16)


def parse(data: bytes) -> Transaction:
    """Reads a binary stream. Raises ArtifactError: truncated, wrong size or count, unknown operation."""
    reader = Reader(data, "TXN stream")
    head = reader.take(0, HEADER_BYTES, "the TXN header")
    version = (head[0], head[1])
    if version not in (VERSION_0_1, VERSION_1_0):
        reader.fail(f"TXN version {version[0]}.{version[1]}; known are 0.1 and 1.0", 0)
    count, size = reader.words(8, 2, "the TXN header")
    if size != len(data):
        reader.fail(f"the header says {size} bytes, there are {len(data)}", 12, remedy=WRONG_LENGTH)
    ops: list[Operation] = []
    offset = HEADER_BYTES
    while offset < size:
        if len(ops) == count:
            reader.fail(f"{size - offset} bytes follow the last of {count} operations", offset)
        op, used = decode_operation(reader, offset, version)
        ops.append(op)
        offset += used
    if len(ops) != count:
        reader.fail(f"the header says {count} operations, there are {len(ops)}", 8)
    return Transaction(
        tuple(ops),
        version,
        generation=head[2],
        rows=head[3],
        columns=head[4],
        memory_rows=head[5],
        spare=int.from_bytes(head[6:8], "little"),
    )
