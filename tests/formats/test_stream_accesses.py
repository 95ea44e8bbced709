"""What an instruction stream does to its buffers, from its descriptors. Streams of real compilers are held
to what the emulated array touches in tests/xrt/test_sanitized.py."""

from __future__ import annotations

from aiepipe.formats.lx6 import Lx6Stream, WriteBd
from aiepipe.formats.lx6 import Write32 as Lx6Write32
from aiepipe.formats.stream_accesses import DDR_APERTURE, StreamAccess, stream_accesses
from aiepipe.formats.txn import Transaction
from aiepipe.formats.txn_operations import BlockWrite, DdrPatch, Operation, Write32
from aiepipe.npu.descriptors import BufferDescriptor, descriptor_offset, encode
from aiepipe.npu.registers import register
from aiepipe.npu.topology import TileAddress, TileKind

SHIM = TileAddress(0, 0)


def bd_write(
    number: int,
    *,
    length: int,
    steps: tuple[int, ...] = (1, 1, 1),
    wraps: tuple[int, ...] = (0, 0),
    iteration: tuple[int, int] = (1, 1),
    next_bd: int | None = None,
) -> BlockWrite:
    """`iteration` is (step, wrap)."""
    step, wrap = iteration
    descriptor = BufferDescriptor(
        0, length, steps, wraps, iteration_step=step, iteration_wrap=wrap, next_bd=next_bd
    )
    words = encode(TileKind.SHIM, descriptor)
    return BlockWrite(SHIM.address(descriptor_offset(TileKind.SHIM, number)), words)


def patch(number: int, argument: int, offset: int) -> DdrPatch:
    return DdrPatch(SHIM.address(descriptor_offset(TileKind.SHIM, number)) + 4, argument, offset)


def start(direction: str, number: int, repeats: int = 1, channel: int = 0) -> Write32:
    queue = register(TileKind.SHIM, f"DMA_{direction}_START_QUEUE")
    value = queue.encode(START_BD_ID=number, REPEAT_COUNT=repeats - 1)
    return Write32(SHIM.address(queue.at(channel)), value)


def accesses(*ops: Operation) -> tuple[StreamAccess, ...]:
    return stream_accesses(Transaction(ops))


def test_a_contiguous_read_and_a_write() -> None:
    found = accesses(
        bd_write(0, length=16),
        patch(0, 0, 64),
        start("MM2S", 0),
        bd_write(1, length=4),
        patch(1, 2, 0),
        start("S2MM", 1, channel=1),
    )
    assert found == (StreamAccess(0, False, ((64, 64),)), StreamAccess(2, True, ((0, 16),), 0, 1))


def test_rows_with_gaps_are_apart() -> None:
    """4 words of each of 3 rows that are 16 words long."""
    (found,) = accesses(
        bd_write(3, length=12, steps=(1, 16, 1), wraps=(4, 0)), patch(3, 1, 0), start("S2MM", 3)
    )
    assert found.ranges == ((0, 16), (64, 16), (128, 16))


def test_repeats_move_by_the_iteration() -> None:
    (found,) = accesses(
        bd_write(3, length=4, iteration=(8, 3)),
        patch(3, 1, 0),
        start("MM2S", 3, repeats=3),
    )
    assert found.ranges == ((0, 16), (32, 16), (64, 16))


def test_a_chain_is_followed_and_ends_where_it_began() -> None:
    found = accesses(
        bd_write(0, length=4, next_bd=1),
        bd_write(1, length=4, next_bd=0),
        patch(0, 0, 0),
        patch(1, 1, 0),
        start("MM2S", 0),
    )
    assert [access.argument for access in found] == [0, 1]


def test_an_argument_past_the_fifth_has_the_aperture_in_its_offset() -> None:
    (found,) = accesses(bd_write(0, length=4), patch(0, 6, DDR_APERTURE + 32), start("MM2S", 0))
    assert found.ranges == ((32, 16),)


def test_a_descriptor_that_the_stream_does_not_hold_has_no_length() -> None:
    assert accesses(patch(0, 0, 0), start("S2MM", 0)) == (StreamAccess(0, True, None),)


def test_an_address_of_its_own_is_no_buffers() -> None:
    assert accesses(patch(0, 0, 0), bd_write(0, length=4), start("MM2S", 0)) == ()


def test_lx6_streams() -> None:
    words = encode(TileKind.SHIM, BufferDescriptor(address=32, length_words=4))
    queue = register(TileKind.SHIM, "DMA_S2MM_START_QUEUE")
    stream = Lx6Stream(
        (WriteBd(0, 1, 2, 5, words), Lx6Write32(0, 0, queue.at(0), queue.encode(START_BD_ID=5)))
    )
    assert stream_accesses(stream) == (StreamAccess(2, True, ((32, 16),)),)
