"""The operations of a TXN stream, version-independent: what each does, and bytes kept for fidelity.

In every class `head` is what word 0 holds above its opcode byte, `spare` other words or bytes without a
meaning, `tail` the bytes that the operation's size counts after its fields. They are 0 or empty unless a
file had them, so that reading and writing a stream gives the same bytes. Sources: facts/formats.md
section 3.3; aie-rt's xaie_txn.h (MIT) for the operations that no file at hand has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Write32:
    """register = value."""

    address: int
    value: int
    head: int = 0
    spare: tuple[int, ...] = ()
    tail: bytes = b""
    name: ClassVar[str] = "WRITE32"


@dataclass(frozen=True, slots=True)
class BlockWrite:
    """`words` to consecutive registers from `address`. mlir-aie writes (column | row << 8,) as `spare`."""

    address: int
    words: tuple[int, ...]
    head: int = 0
    spare: tuple[int, ...] = ()
    name: ClassVar[str] = "BLOCKWRITE"


@dataclass(frozen=True, slots=True)
class MaskWrite32:
    """register = (register & ~mask) | (value & mask). aie-rt adds a `tail` of 4 bytes."""

    address: int
    value: int
    mask: int
    head: int = 0
    spare: tuple[int, ...] = ()
    tail: bytes = b""
    name: ClassVar[str] = "MASKWRITE32"


@dataclass(frozen=True, slots=True)
class MaskPoll:
    """Waits until register & mask == value. `busy` is the variant MASKPOLL_BUSY."""

    address: int
    value: int
    mask: int
    busy: bool = False
    head: int = 0
    spare: tuple[int, ...] = ()
    tail: bytes = b""
    name: ClassVar[str] = "MASKPOLL"


@dataclass(frozen=True, slots=True)
class Noop:
    """Nothing."""

    head: int = 0
    name: ClassVar[str] = "NOOP"


@dataclass(frozen=True, slots=True)
class Preempt:
    """A point where the firmware may switch to another context. Levels: 0 none, 1 memory tile, 2 AIE
    tile, 3 AIE registers."""

    level: int
    head: int = 0
    name: ClassVar[str] = "PREEMPT"


@dataclass(frozen=True, slots=True)
class LoadPdi:
    """Configures the array from another PDI."""

    pdi_id: int
    size_bytes: int
    address: int
    head: int = 0
    name: ClassVar[str] = "LOAD_PDI"


@dataclass(frozen=True, slots=True)
class LoadPmStart:
    """Begins a section of `count` program-memory loads."""

    load_id: int
    count: int
    name: ClassVar[str] = "LOAD_PM_START"


@dataclass(frozen=True, slots=True)
class CreateScratchpad:
    """Asks for a scratch buffer of `size_bytes` bytes; `usage` 0 is the state table."""

    usage: int
    size_bytes: int
    offset: int
    head: int = 0
    name: ClassVar[str] = "CREATE_SCRATCHPAD"


@dataclass(frozen=True, slots=True)
class UpdateState:
    """state[index] changed by `function` (0 multiply, 1 increment, 2 decrement) with `operand`."""

    index: int
    function: int
    operand: int
    head: int = 0
    name: ClassVar[str] = "UPDATE_STATE_TABLE"


@dataclass(frozen=True, slots=True)
class UpdateRegister:
    """A register changed by `function` of a state table entry."""

    index: int
    function: int
    operand: int
    address: int
    head: int = 0
    name: ClassVar[str] = "UPDATE_REG"


@dataclass(frozen=True, slots=True)
class UpdateScratch:
    """Writes the state table back."""

    head: int = 0
    name: ClassVar[str] = "UPDATE_SCRATCH"


@dataclass(frozen=True, slots=True)
class Sync:
    """Waits for task-completion tokens of `columns` x `rows` tiles from (column, row) on.

    `direction` 0 is S2MM, 1 MM2S (npu.topology.Direction).
    """

    column: int
    row: int
    direction: int
    channel: int
    columns: int = 1
    rows: int = 1
    head: int = 0
    spare: tuple[int, ...] = ()
    tail: bytes = b""
    name: ClassVar[str] = "SYNC"


@dataclass(frozen=True, slots=True)
class DdrPatch:
    """Puts (address of data buffer `argument`) + `offset_bytes` into a shim BD.

    `address` is that of the BD's word 1. The firmware replaces the 48-bit base, it does not add to what
    the BD held. For `argument` >= 5 the xclbin flow of mlir-aie folds 0x80000000, where the array sees
    DDR, into the offset.
    """

    address: int
    argument: int
    offset_bytes: int
    head: int = 0
    spare: tuple[int, ...] = ()
    tail: bytes = b""
    name: ClassVar[str] = "DDR_PATCH"


@dataclass(frozen=True, slots=True)
class ReadRegisters:
    """Reads registers for the host. `wide` is aie-rt's form: a padding word, then 64-bit addresses."""

    addresses: tuple[int, ...]
    wide: bool = False
    head: int = 0
    spare: tuple[int, ...] = ()
    name: ClassVar[str] = "READ_REGS"


@dataclass(frozen=True, slots=True)
class RecordTimer:
    """Records the timer under `timer_id`."""

    timer_id: int
    head: int = 0
    tail: bytes = b""
    name: ClassVar[str] = "RECORD_TIMER"


@dataclass(frozen=True, slots=True)
class MergeSync:
    """Waits for `tokens` tokens from `columns` columns, whichever they are."""

    tokens: int
    columns: int
    head: int = 0
    spare: tuple[int, ...] = ()
    tail: bytes = b""
    name: ClassVar[str] = "MERGE_SYNC"


@dataclass(frozen=True, slots=True)
class CustomOp:
    """An operation from 0x80 on that no source describes; its size is known, its meaning is not."""

    opcode: int
    payload: bytes
    head: int = 0
    name: ClassVar[str] = "CUSTOM"


Operation = (
    Write32
    | BlockWrite
    | MaskWrite32
    | MaskPoll
    | Noop
    | Preempt
    | LoadPdi
    | LoadPmStart
    | CreateScratchpad
    | UpdateState
    | UpdateRegister
    | UpdateScratch
    | Sync
    | DdrPatch
    | ReadRegisters
    | RecordTimer
    | MergeSync
    | CustomOp
)
