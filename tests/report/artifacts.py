"""Small artifacts explained, for tests of how they look."""

from __future__ import annotations

import hashlib

from aiepipe.description import Dump, Listing
from aiepipe.explain.artifact import explain, kind_name
from aiepipe.explain.listing import list_programs
from aiepipe.formats import pdi, xclbin
from aiepipe.formats.cdo import Cdo, DmaWrite, MaskWrite, Nop, Write
from aiepipe.formats.control_packet import ControlPacket, PacketOperation
from aiepipe.formats.control_packet import encode as encode_packets
from aiepipe.formats.elf import CoreElf, Segment, Symbol
from aiepipe.formats.reader import pack_words
from aiepipe.formats.txn import BlockWrite, DdrPatch, LoadPdi, MaskPoll, Sync, Transaction, Write32
from aiepipe.isa.assembler import BundleStatement, Label, LoopEnd, Statement, assemble
from aiepipe.npu.descriptors import BufferDescriptor, encode
from aiepipe.npu.topology import TileKind


def explained(data: bytes, *sections: str, file: str = "file") -> Dump:
    kind = kind_name(data)
    digest = hashlib.sha256(data).hexdigest()
    return Dump(file, kind, len(data), digest, explain(data, kind), sections or None)


def listed(data: bytes, file: str = "file") -> Listing:
    kind = kind_name(data)
    return Listing(file, kind, list_programs(data, kind))


def configuration() -> Cdo:
    """One core that takes words from the shim, two locks, one task, a bit of everything else."""
    bd = BufferDescriptor(
        address=0x400, length_words=64, steps=(1, 8, 1), wraps=(8, 0), acquire_enable=True, acquire_lock=0,
        acquire_value=-1, release_lock=1, release_value=1, next_bd=0,
    )  # fmt: skip
    return Cdo(
        (
            Nop(),
            Nop(),
            DmaWrite(0x220000, program().segments[0].data),
            Write(0x21F000, 1),
            Write(0x21F010, 0),
            DmaWrite(0x21D000, pack_words(encode(TileKind.COMPUTE, bd))),
            Write(0x21DE04, 0),
            Write(0x03F030, 0x80000005),  # shim: North0 takes South3
            Write(0x03F114, 0x80000000),
            MaskWrite(0x01F000, 0xC00, 0x400),
            Write(0x1B002C, 0x80000007),  # memory tile: North0 takes South0
            Write(0x1B011C, 0x80000000),
            Write(0x23F004, 0x80000005),  # core: DMA0 takes South0
            Write(0x23F114, 0x80000000),
            Write(0x21E000, 7),  # no register
            MaskWrite(0x232000, 1, 1),
        )
    )


def container() -> bytes:
    image = pdi.from_files([configuration().for_file()])
    return xclbin.build(image.encode(), kernel="add", buffers=2).encode()


def program() -> CoreElf:
    image = assemble(
        [
            Statement("movxm ls, #body"),
            Statement("movxm le, #last"),
            Statement("movxm p0, #459776"),  # 0x70400
            Statement("movxm lc, #10"),
            Label("body"),
            *[Statement("add r1, r1, #1")] * 9,
            LoopEnd("last", "body"),
            BundleStatement(["j #body"]),
            *[BundleStatement(())] * 5,
        ]
    )
    code = image.code + bytes(-len(image.code) % 16) + b"\x05\x00\xff\xff"
    symbols = (
        Symbol("count", image.labels["body"], 0, "none", ".text"),
        Symbol("buffer", 0x70400, 64, "object", ".bss"),
    )
    return CoreElf((Segment(0, code, len(code), True), Segment(0x70400, b"", 64)), symbols, 0, "aiepipe")


def stream() -> Transaction:
    bd = encode(TileKind.SHIM, BufferDescriptor(address=0, length_words=1024, burst_code=2))
    return Transaction(
        (
            BlockWrite(0x1D000, bd),
            DdrPatch(0x1D004, 1, 0x100),
            Write32(0x1D214, 0x80010000),
            BlockWrite(0x200400, (7, 8)),
            MaskPoll(0x232004, 1 << 20, 1 << 20),
            LoadPdi(2, 1024, 0x40000000),
            Sync(0, 0, 1, 0),
        )
    )


def packets() -> bytes:
    return encode_packets(
        [
            ControlPacket(0x1F000, PacketOperation.WRITE, data=(2,)),
            ControlPacket(0x32004, PacketOperation.READ, stream_id=4),
        ]
    )
