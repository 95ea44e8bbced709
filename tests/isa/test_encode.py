"""Encoding: the corpus byte for byte, golden encodings of llvm-aie's tests, and what cannot be encoded."""

from __future__ import annotations

import pytest

from aiepipe.errors import ArtifactError
from aiepipe.isa.assembly import parse
from aiepipe.isa.assembly import print as assembly_print
from aiepipe.isa.bundle import SlotInstruction
from aiepipe.isa.decode import decode_bundle, decode_bundles
from aiepipe.isa.encode import bundle_sizes, encode_bundle, encode_slot


def test_every_bundle_of_the_corpus_encodes_to_its_bytes(programs: dict[str, tuple[int, bytes]]) -> None:
    for _, data in programs.values():
        for bundle in decode_bundles(data):
            encoded = encode_bundle(bundle.slots, format=bundle.format)
            assert encoded == data[bundle.address : bundle.end], bundle


# Bytes and text as the tests of Xilinx/llvm-aie state them (llvm/test/CodeGen/AIE/aie2/BinaryOutput),
# chosen where this table has something odd: split immediates, composite classes, always negative
# offsets, tied operands, registers in halves.
GOLDEN = """
19 18 00 10  ret lr
59 c2 ff 07  lda r1, [sp, #-4]
d9 76 ff 07  lda p6, [sp, #-8]
59 e7 fd 07  lda dj3, [sp, #-20]
19 57 f1 0f  st dn3, [sp, #-120]
d9 01 8c 05  lda.s8 r0, [p5, #-4]
d9 03 6f 06  lda.u16 r1, [p6, #3]
59 97 82 04  lda dn3, [p4, #-128]
59 97 81 04  lda dn3, [p4], #-256
59 b9 7f 03  lda dc4, [p3], #252
59 b9 98 03  lda.2d dc4, [p3], d4
59 97 60 04  lda.3d dn3, [p4], d3
d9 11 63 06  lda.3d.u16 r8, [p6], d3
19 80 03 00  lda.tm r0, [p0]
99 31 60 05  padda.3d [p5], d3
19 08 5b 3b  paddb.3d [p3], d2
59 31 60 0e  padds.3d [p6], d3
59 0f 00 18  vmov wl0, amll0
59 07 1c 18  vmov amll0, wl0
59 9f 4c 1e  vmov wh3, wh6
59 4f 35 1c  vmov amlh8, amlh5
59 07 2f 1a  vmov q1, q2
19 d8 84 3d  vldb.4x16.lo wl3, wl11
19 b8 f5 39  vldb.4x64.hi wh6, wh3
19 e0 58 3f  vldb.sparse.pop.4 qwl3, [p7]
19 c0 78 3e  vldb.sparse.pop.16 qwh3, [p6]
19 37 0d 0a  mov.ph ms, r27, #3, r28
19 05 01 0d  mov.ph.nb.tlast ms, r2, #0
19 06 4d 08  mov.cph ms, m2, #2, #1, r3
19 04 f3 09  mov.cph.tlast ms, m7, #1, #2, r2
79 ab 28 1a  vshift x4, x5, x6, r17
79 ab 18 1a  vshift.align x4, x5, s0, x6, r17
d9 55 01 1a  vsub.32 x4, x10, x11
09 54 91 4f  vmul cm5, x4, x5, r9
09 94 93 4f  vmul cm5, x4, qx2, r9
09 50 bb 9f  vmul cm4, y4, qx1, r19
09 5a b7 6f  vnegmul cm6, y3, qx1, r13
09 54 11 4b  vmac cm5, cm6, x4, x5, r9
09 da 08 5c  vmsc cm6, cm8, x2, x3, r11
09 cf 3f 12  vnegmac cm3, cm4, y5, qx3, r2
09 16 33 b1  vmsc cm5, cm2, y2, qx0, r22
d9 06 00 18  vmov x0, bml0
d9 06 2c 18  vmov bml0, x0
d9 36 8c 19  vmov x3, x6
d9 06 25 1c  vmov bml8, bml5
d9 86 65 1c  vmov bmh8, bmh5
f9 9c c0 18  vshuffle bml1, x3, x9, r1
79 8a c5 1c  vshuffle bmh1, x1, x4, r11
79 91 c7 1b  vshuffle bml7, x2, x2, r15
79 aa c3 1f  vshuffle bmh7, x5, x4, r7
79 8a 85 1b  vshuffle x7, x1, x4, r11
d9 07 93 18  vups.s32.d8 cm1, wl0, s1
d9 cf ab 1b  vups.s64.d16 cm7, wh3, s2
d9 47 bf 1a  vups.s64.s16 cm5, wl1, s3
d9 47 45 1c  vups.s32.s16 bmh8, wl1, s0
d9 9f a9 18  vups.s64.d32 bml1, wh6, s2
d9 17 2a 1c  vups.s64.d32 cm8, x2, s2
59 76 00 18  mov r0, p0
59 f6 3c 1a  mov p2, sp
59 76 76 1e  mov sp, p3
59 76 78 1a  mov lr, p4
59 96 77 1d  mov lc, r15
59 96 ea 1e  mov dc3, r21
59 56 3b 1a  mov p2, dj6
59 76 b9 1a  mov s1, s2
59 36 94 1c  mov crSat, crMCDEn
59 36 95 1d  mov crUnpackSign, crPackSign
59 b6 d0 1b  mov srSS0, srCarry
59 b6 52 18  mov srCarry, srF2FFlags
59 f6 06 18  mov r0, CORE_ID
99 09 00 00  vmov bml2, SCD
99 0c 00 00  vmov x3, SCD
99 07 7c 08  vmov MCD, bmh1
99 28 7c 08  vmov MCD, x10
19 03 1c 00  vmov.hi cm0, SCD
19 01 00 14  movx r0, #-1024
19 a5 08 10  movx r4, #41
19 91 41 10  movx lc, #100
99 8f dd 0a  vsrs.d32.s64 wh5, bmh3, s1
99 d8 3e 0a  vsrs.s32.s64 x4, cm6, s2
59 27 34 19  vsrsm.s16.s32 wl2, bml4, s3
59 9b 82 0d  vst amhh6, [p5, #-1024]
59 5e 00 08  vst amhl7, [sp, #-131072]
59 91 7f 0d  vst amlh4, [p5], #2016
59 9b 60 0d  vst.3d amhh6, [p5], d3
"""


@pytest.mark.parametrize("line", GOLDEN.strip().splitlines())
def test_encodings_that_llvm_aie_states(line: str) -> None:
    encoded, text = line.split("  ")
    assert encode_bundle([one(text)]) == bytes.fromhex(encoded)
    (instruction,) = decode_bundle(bytes.fromhex(encoded), 0).slots
    assert assembly_print(instruction) == text


def test_a_bundle_of_nops_is_the_short_one() -> None:
    assert encode_bundle([]).hex() == "0100"  # facts 1.2


def test_nothing_in_16_bytes_is_the_full_nop() -> None:
    assert encode_bundle([], size=16).hex() == "c003" + "00" * 14  # facts 1.2


def test_the_smallest_format_that_has_the_slots_is_taken() -> None:
    assert bundle_sizes(["st", "mv"])[0] == 8  # facts 1.3: ST+MV only in 64 bits
    assert bundle_sizes(["lda", "mv"])[0] == 6
    assert bundle_sizes(["lda", "ldb", "vec"])[0] == 10
    assert bundle_sizes(["lda", "ldb", "st", "alu", "mv", "vec"]) == (16,)
    assert bundle_sizes(["lng", "mv"]) == ()


def one(text: str) -> SlotInstruction:
    return parse(text)[0]


def test_one_slot_holds_one_instruction() -> None:
    with pytest.raises(ArtifactError, match="alu"):
        encode_bundle([one("add r0, r1, r2"), one("sub r3, r4, r5")])


def test_a_size_that_has_not_the_slots_is_refused() -> None:
    with pytest.raises(ArtifactError, match="2 bytes"):
        encode_bundle([one("add r0, r1, r2")], size=2)


@pytest.mark.parametrize(
    "operands", [{"mRx": "r0", "mRx0": "p0", "c7s": 1}, {"mRx": "r0", "mRx0": "r1", "c7s": 64}, {}]
)
def test_an_operand_that_has_no_code_is_refused(operands: dict[str, str | int]) -> None:
    opcode = one("add r0, r0, #1").opcode
    with pytest.raises(ArtifactError, match="ADD_add_r_ri"):
        encode_slot(SlotInstruction(opcode, operands))
