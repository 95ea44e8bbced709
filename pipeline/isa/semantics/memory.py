"""Scalar loads and stores, and the 128-bit mask registers.

A load reads memory with its bundle and gives its result 7 bundles later; a store is seen by the next
bundle. A store of 8 or 16 bits reads its data 6 bundles after issue and changes memory then (facts 2.2:
data read E7, store E11, against E1 and E5 of a whole word).
"""

from __future__ import annotations

from ..bundle import SlotInstruction
from .address import access
from .meaning import Moment, meaning
from .value import I32, Type

PARTIAL_STORE_DELAY = 6
"""Bundles from issue until a partial-word store reads its data: E7, not E1 (AIE2Schedule.td, II_STHB)."""


@meaning(r"LDA_dms_(?:lda_.*|spill)", "LDA_2D_dms_lda", "LDA_3D_dms_lda")
def load_word(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("mLdaScl"), m.load(access(m, i), I32))


@meaning(r"LDA_(?:[23]D_)?([SU])(8|16)_.*")
def load_part(m: Moment, i: SlotInstruction, sign: str, width: str) -> None:
    value = m.load(access(m, i), Type(int(width)))
    m.write(i.register("mRa"), value.extend(32, signed=sign == "S"))


@meaning(r"LDA_dmv_lda_q_.*", "LDA_2D_dmv_lda_q", "LDA_3D_dmv_lda_q")
def load_mask(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("dst"), m.load(access(m, i), Type(32, 4)))


@meaning(r"ST_dms_(?:sts_.*|spill)", "ST_2D_dms_sts", "ST_3D_dms_sts")
def store_word(m: Moment, i: SlotInstruction) -> None:
    m.store(access(m, i), m.read(i.register("mSclSt")).zext(32))


@meaning(r"ST_(?:[23]D_)?S(8|16)(?:_.*)?")
def store_part(m: Moment, i: SlotInstruction, width: str) -> None:
    address = access(m, i)
    late = m.after(PARTIAL_STORE_DELAY)
    late.store(address, late.read(i.register("mRv")).trunc(int(width)))


@meaning(r"ST_dmv_sts_q_.*", "ST_2D_dmv_sts_q", "ST_3D_dmv_sts_q")
def store_mask(m: Moment, i: SlotInstruction) -> None:
    m.store(access(m, i), m.read(i.register("src")))
