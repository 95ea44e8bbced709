"""The controller: executes an instruction stream, as npu1's firmware does.

TXN and lx6 operations become a list of actions; the controller works through them until one has to wait
for the array (a token, a poll, a start queue that is full). Sources: facts/formats.md section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import EmulationError
from ..formats import lx6, txn
from ..npu.descriptors import descriptor_offset
from ..npu.limits import LIMITS
from ..npu.registers import register
from ..npu.topology import Direction, TileAddress, TileKind
from .array import Array
from .packets import Token

DDR_APERTURE = 0x80000000
"""Where the array sees DDR. The firmware adds it for arguments 0 to 4; for later ones it is in the offset
of DDR_PATCH already, and is taken off here, as argument addresses are given without it."""

FIRST_FOLDED_ARGUMENT = 5

_BD_STRIDE = register(TileKind.SHIM, "DMA_BD_WORD_1").stride
_BASE_LOW = register(TileKind.SHIM, "DMA_BD_WORD_1")
_BASE_HIGH = register(TileKind.SHIM, "DMA_BD_WORD_2").field("BASE_ADDRESS_HIGH")
_ADDRESS_MASK = (1 << 48) - 1

Action = Callable[[], bool]
"""Does an operation; False when it has to wait and be tried again."""


class Controller:
    """One execution of a stream. `arguments`: device addresses of the data buffers, in kernel order.

    `load` executes LOAD_PDI: id, size in bytes, address.
    """

    def __init__(
        self,
        array: Array,
        stream: txn.Transaction | lx6.Lx6Stream,
        arguments: Sequence[int],
        load: Callable[[int, int, int], None],
    ) -> None:
        self._array = array
        self._arguments = tuple(arguments)
        self._load_pdi = load
        self._position = 0
        self._waiting = ""
        self._wanted: tuple[Token, ...] = ()
        self._full: tuple[int, int] | None = None
        """The write (address, value) that waits for room in a start queue."""
        self._ops: tuple[txn.Operation | lx6.Operation, ...] = stream.ops

    @property
    def done(self) -> bool:
        """All operations have been executed."""
        return self._position == len(self._ops)

    @property
    def waiting(self) -> str:
        """What it waits for, in words."""
        return self._waiting

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens that it waits for."""
        return self._wanted

    def advance(self) -> bool:
        """Executes operations until one waits or none is left; True when it executed any."""
        start = self._position
        while self._position < len(self._ops):
            if not self._execute(self._ops[self._position]):
                break
            self._position += 1
            self._waiting, self._wanted = "", ()
        return self._position > start

    def lose_task(self) -> bool:
        """To be called when nothing moves: a write to a full start queue is done then, and its task is lost.

        Hardware loses it at once (mlir-aie's test npu-xrt/dma_queue_overflow); waiting as long as it may help
        shows what a program whose queues drain in time does. A queue that never drains is that of a trace
        buffer, which gets one more task with each run.
        """
        if self._full is None:
            return False
        self._array.write(*self._full)
        self._position += 1
        self._waiting, self._full = "", None
        return True

    def _execute(self, op: txn.Operation | lx6.Operation) -> bool:
        match op:
            case txn.Write32(address=address, value=value):
                return self._write(address, value)
            case txn.BlockWrite(address=address, words=words):
                self._array.write_block(address, b"".join(word.to_bytes(4, "little") for word in words))
            case txn.MaskWrite32(address=address, value=value, mask=mask):
                self._array.mask_write(address, value, mask)
            case txn.MaskPoll(address=address, value=value, mask=mask):
                return self._poll(address, value, mask)
            case txn.Noop() | txn.Preempt() | txn.RecordTimer():
                pass
            case txn.ReadRegisters(addresses=addresses):
                for address in addresses:
                    self._array.read(address)
            case txn.DdrPatch(address=address, argument=argument, offset_bytes=offset):
                self._patch(address, argument, offset)
            case txn.Sync() | lx6.Sync():
                return self._sync(op)
            case txn.MergeSync(tokens=tokens, columns=columns):
                return self._merge_sync(tokens, columns)
            case lx6.Write32(column=column, row=row, address=address, value=value):
                return self._write(TileAddress(column, row).base + address, value)
            case lx6.WriteBd():
                self._write_bd(op)
            case lx6.Other():
                raise self._error(f"lx6 opcode {op.opcode} has no known meaning", "unsupported")
            case txn.LoadPdi():
                self._load(op)
            case txn.CustomOp(opcode=opcode):
                raise self._error(f"TXN opcode {opcode:#x} has no known meaning", "unsupported")
            case _:
                raise self._error(f"TXN operation {op.name} is not emulated", "unsupported")
        return True

    def _load(self, op: txn.LoadPdi) -> None:
        try:
            self._load_pdi(op.pdi_id, op.size_bytes, op.address)
        except EmulationError as error:
            raise self._error(f"LOAD_PDI: {error.message}", error.kind) from error

    def _write(self, address: int, value: int) -> bool:
        channel = self._array.start_queue(address)
        if channel is not None and channel.full:
            self._waiting = f"room in the start queue of {channel.name}"
            self._full = address, value
            return False
        self._full = None
        self._array.write(address, value)
        return True

    def _poll(self, address: int, value: int, mask: int) -> bool:
        found = self._array.read(address)
        if found & mask == value:
            return True
        tile, offset = self._array.locate(address)
        self._waiting = f"register {offset:#x} of {tile.name} & {mask:#x} == {value:#x}; it holds {found:#x}"
        return False

    def _patch(self, address: int, argument: int, offset: int) -> None:
        base = self._argument(argument)
        if argument >= FIRST_FOLDED_ARGUMENT:
            if offset >= DDR_APERTURE:
                offset -= DDR_APERTURE
            else:
                self._array.warn(
                    f"DDR_PATCH of argument {argument} lacks the {DDR_APERTURE:#x} that npu1's firmware"
                    " adds only for arguments 0 to 4"
                )
        self._put_address(address, base + offset)

    def _put_address(self, address: int, target: int) -> None:
        tile, offset = self._array.locate(address)
        is_base = tile.kind is TileKind.SHIM and any(
            offset == _BASE_LOW.at(number) for number in range(LIMITS[TileKind.SHIM].descriptors)
        )
        if not is_base:
            raise self._error(f"DDR_PATCH at {address:#x}, which is not word 1 of a shim BD", "bad-bd")
        target &= _ADDRESS_MASK
        tile.write(offset, target & 0xFFFFFFFF)
        high = tile.registers.get(offset + 4, 0) & ~_BASE_HIGH.mask
        tile.write(offset + 4, high | _BASE_HIGH.place(target >> 32))

    def _write_bd(self, op: lx6.WriteBd) -> None:
        """Writes the BD's words; the firmware adds the argument's address to the offset in word 1."""
        base = self._argument(op.argument)
        for column in range(op.column, op.column + max(1, op.columns)):
            tile = TileAddress(column, 0)
            try:
                start = tile.base + descriptor_offset(TileKind.SHIM, op.bd)
            except IndexError as error:
                raise self._error(f"WRITEBD of BD {op.bd}, a shim has 16", "bad-bd") from error
            self._array.write_block(start, b"".join(word.to_bytes(4, "little") for word in op.words))
            self._put_address(start + 4, base + op.words[1])

    def _argument(self, number: int) -> int:
        if number >= len(self._arguments):
            raise self._error(
                f"the stream uses data buffer {number}, the call has {len(self._arguments)}",
                "bad-argument",
                remedy="give one buffer for each argument of the kernel, in its order",
            )
        return self._arguments[number]

    def _sync(self, op: txn.Sync | lx6.Sync) -> bool:
        if op.direction not in (Direction.S2MM.value, Direction.MM2S.value):
            raise self._error(f"SYNC with direction {op.direction}", "bad-sync")
        direction = Direction(op.direction)
        tokens = tuple(
            Token(TileAddress(column, row), direction, op.channel)
            for column in range(op.column, op.column + max(1, op.columns))
            for row in range(op.row, op.row + max(1, op.rows))
        )
        missing = tuple(token for token in tokens if self._array.tokens[token] == 0)
        if missing:
            self._wanted = missing
            names = ", ".join(f"{token.tile} {token.direction.name} {token.channel}" for token in missing)
            self._waiting = f"a task token of {names}"
            return False
        for token in tokens:
            self._array.tokens[token] -= 1
        return True

    def _merge_sync(self, tokens: int, columns: int) -> bool:
        there = sum(
            count for token, count in self._array.tokens.items() if token.tile.column < max(1, columns)
        )
        if there < tokens:
            self._waiting = f"{tokens} task tokens of {columns} columns; there are {there}"
            return False
        left = tokens
        for token in list(self._array.tokens):
            taken = min(left, self._array.tokens[token]) if token.tile.column < max(1, columns) else 0
            self._array.tokens[token] -= taken
            left -= taken
        return True

    def _error(self, message: str, kind: str, *, remedy: str | None = None) -> EmulationError:
        return EmulationError(
            f"operation {self._position} of the instruction stream: {message}", kind=kind, remedy=remedy
        )
