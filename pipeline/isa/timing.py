"""When an AIE2 instruction reads and writes what it does, as tables by scheduling class.

Stages are counted from 1 (E1, the stage in which the bundle issues). A result written in stage d can be
read in stage r of an instruction that issues d - r + 1 bundles later; where both sides share a bypass,
one bundle earlier. The pipeline is exposed: an earlier read sees the old value, and nothing stalls.
Source: AIE2Schedule.td of Xilinx/llvm-aie (operand cycles, ports, memory cycles); the common stage of a
class's result stands in the instruction table as `latency`.
"""

from __future__ import annotations

DELAY_SLOTS = 5
"""Bundles after any branch that still execute."""

LINK_STAGE = 4
"""`jl` writes lr in E4."""

COMPARE_STAGE = 2
"""Stage of the comparison mask that vmax_lt and its like write beside their vector."""

LOAD_STAGE = 5
"""Loads read memory in E5."""

ACCUMULATOR_STAGE = 3
"""The vector unit reads accumulators in E3, everything else in E1."""

# Stage in which a store reaches memory, by scheduling class where it is not E5.
STORE_STAGES: dict[str, int] = {
    **{f"II_VST_{form}SRS": 7 for form in ("", "POSTINC_", "2D_", "3D_")},
    **dict.fromkeys(("II_VST_CONV", "II_VST_CONV_POSTINC", "II_VST_2D_CONV", "II_VST_3D_CONV"), 7),
    **dict.fromkeys(("II_STHB", "II_STHB_POST_1D", "II_STHB_2D", "II_STHB_3D"), 11),
}
STORE_STAGE = 5

# A partial-word store is a load in E5 and a store in E11; it holds the memory for these stages.
PARTIAL_STORE_STAGES = 7

# Operands that are read later than E1: (scheduling class, operand name) -> stage.
LATE_READS: dict[tuple[str, str], int] = {
    ("II_VUNPACK", "src"): 7,
    **{(f"II_STHB{form}", "mRv"): 7 for form in ("", "_POST_1D", "_2D", "_3D")},
    **{(f"II_VLDA_{form}UPS", "shft"): 7 for form in ("", "POSTINC_", "2D_", "3D_")},
    **{
        (f"II_{name}", operand): ACCUMULATOR_STAGE
        for name in (
            "VACC",
            "VACCf",
            "VADDMAC",
            "VADDMACf",
            "VMAC",
            "VMACf",
            "VMSC",
            "VMSCf",
            "VNEG",
            "VNEGf",
            "VNEGMAC",
            "VNEGMSC",
        )
        for operand in ("acc1", "acc2")
    },
    ("II_VMOV_D", "csrc"): ACCUMULATOR_STAGE,
}

# Results whose stage is not the class's `latency` (which is that of the pointer there).
LATE_RESULTS: dict[str, int] = {
    f"II_VLDB_{unit}_{action}": 7 for unit in ("SPARSE", "COMPR") for action in ("PEEK", "POP")
}

# Registers that have no operand: (register, stage), by scheduling class.
Implicit = tuple[tuple[str, int], ...]
IMPLICIT_READS: dict[str, Implicit] = {}
IMPLICIT_WRITES: dict[str, Implicit] = {}


def _implicit(classes: str, *, reads: Implicit = (), writes: Implicit = ()) -> None:
    for name in classes.split():
        IMPLICIT_READS[f"II_{name}"] = reads
        IMPLICIT_WRITES[f"II_{name}"] = writes


_implicit("ABS ADD SUB JNZD", writes=(("srCarry", 1),))
_implicit("ADC SBC", reads=(("srCarry", 1),), writes=(("srCarry", 1),))
_implicit("VABS_GTZ VMAX_LT VMIN_GE VSUB_CMP VMAXDIFF_LT VCMP VEXTRACT", reads=(("crVaddSign", 1),))
_implicit("VUPS", reads=(("crSat", 1), ("crUPSSign", 1)), writes=(("srUPS_of", 1),))
_implicit(
    "VLDA_UPS VLDA_POSTINC_UPS VLDA_2D_UPS VLDA_3D_UPS",
    reads=(("crSat", 8), ("crUPSSign", 7)),
    writes=(("srUPS_of", 8),),
)
_implicit(
    "VSRS VSRSM VST_SRS VST_POSTINC_SRS VST_2D_SRS VST_3D_SRS",
    reads=(("crSat", 1), ("crRnd", 1), ("crSRSSign", 1)),
    writes=(("srSRS_of", 3),),
)
_implicit("VPACK VST_PACK VST_PACK_POSTINC VST_2D_PACK VST_3D_PACK", reads=(("crSat", 1), ("crPackSign", 1)))
_implicit(
    "VUNPACK VLDB_UNPACK VLDB_UNPACK_POSTINC VLDB_UNPACK_2D VLDB_UNPACK_3D", reads=(("crUnpackSign", 7),)
)
_implicit(
    "VCONV VST_CONV VST_CONV_POSTINC VST_2D_CONV VST_3D_CONV",
    reads=(("crRnd", 1), ("crF2FMask", 1)),
    writes=(("srF2FFlags", 1),),
)
_implicit("VFLOORs32bf16_AM VFLOORs32bf16_W", reads=(("crF2IMask", 1),), writes=(("srF2IFlags", 2),))
_implicit(
    "VACCf VADDMACf VMACf VMSCf VMULf VNEGMULf VNEGf VCLRf",
    reads=(("crFPMask", 7),),
    writes=(("srFPFlags", 7),),
)
_implicit("MOV_SS", writes=(("srSS0", 8),))
_implicit(
    "ST_MS_NB ST_MS_NB_TLAST_REG MOV_PH_NB MOV_PH_NB_TLAST_REG MOV_CPH_NB MOV_CPH_NB_TLAST_REG",
    writes=(("srMS0", 3),),
)
_implicit("VMOV_CASCADE_READ", reads=(("crSCDEn", 5),))
_implicit("VMOV_CASCADE_WRITE", reads=(("crMCDEn", 1),))
_implicit(
    "VLDB_SPARSE_FILL VLDB_SPARSE_RESET VLDB_SPARSE_PEEK VLDB_SPARSE_POP",
    reads=(("DP", 6),),
    writes=(("DP", 6), ("srSparse_of", 6), ("srCompr_uf", 5)),
)
_implicit(
    "VLDB_COMPR_FILL VLDB_COMPR_RESET VLDB_COMPR_PEEK VLDB_COMPR_POP",
    reads=(("DP", 6),),
    writes=(("DP", 6), ("srCompr_uf", 5)),
)

# Status bits that only accumulate: the order of two writers does not matter.
STICKY = frozenset(
    {"srUPS_of", "srSRS_of", "srF2FFlags", "srF2IFlags", "srFPFlags", "srSparse_of", "srCompr_uf"}
)

# Streams and cascade keep clear of the lock interface for these stages: class -> (first, last).
SEMAPHORE_STAGES = (2, 5)
AVOID_SEMAPHORE: dict[str, tuple[int, int]] = {
    "II_MOV_SS": (1, 7),
    **{f"II_{name}": (2, 3) for name in ("ST_MS", "ST_MS_NB", "ST_MS_NB_TLAST_REG")},
    **{
        f"II_{name}": (2, 6)
        for name in (
            "MOV_PH_B",
            "MOV_PH_NB",
            "MOV_PH_NB_TLAST_REG",
            "MOV_CPH_B",
            "MOV_CPH_NB",
            "MOV_CPH_NB_TLAST_REG",
        )
    },
    "II_VMOV_CASCADE_READ": (2, 7),
    "II_VMOV_CASCADE_WRITE": (2, 7),
}

LOCK_SPACING = 4
"""Bundles between a lock operation and the loads and stores around it (facts 2.5): a store must have
reached memory before the lock is released, and a load must not read before it is acquired. A store
that reaches memory n stages later than E5 keeps n bundles more before the lock."""
