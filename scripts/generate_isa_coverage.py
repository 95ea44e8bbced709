"""Writes docs/isa-coverage.md: for each instruction whether it is encoded and executed, and where its
meaning comes from.

    python scripts/generate_isa_coverage.py [--check]

"Executed" means that a meaning is defined; tests/emulator/core/test_engines.py runs every one of them in
both engines. "Anchored by" is what fixes the value apart from our own definition.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from aiepipe.isa.semantics import has_meaning
from aiepipe.isa.semantics.meaning import function_of
from aiepipe.isa.table import table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "isa-coverage.md"

# Module of isa/semantics -> where its meanings come from, and what anchors them.
SOURCES: dict[str, tuple[str, str]] = {
    "scalar": (
        "ISA facts; llvm-aie: srCarry in AIE2GenInstrInfo.td, compiler-rt's division, aiev2_scalar.h",
        "hand-made values; Peano programs of the corpus (i32 matmuls run exactly)",
    ),
    "address": (
        "llvm-aie: aiev2_addr.h, register and addressing classes",
        "a model in the test; corpus programs",
    ),
    "memory": ("ISA facts; llvm-aie: AIE2Schedule.td", "hand-made values and timings; corpus programs"),
    "control": (
        "ISA facts; llvm-aie: AIE2Schedule.td, aiev2_streams.h; AM020 (packet headers); "
        "mlir-aie (control packets)",
        "hand-made values and timings; corpus programs (locks, calls, loops)",
    ),
    "vector_memory": (
        "llvm-aie: AIE2Schedule.td, aiev2_addr.h; aie_api: parallel_lookup.hpp",
        "numpy; corpus programs (loads, stores, moves)",
    ),
    "vector_arithmetic": ("llvm-aie: aiev2_vadd.h, aiev2_addr.h (vsel)", "numpy; reduce-add of the corpus"),
    "vector_permute": (
        "llvm-aie: aiev2_enums.h (shuffle modes), aiev2_scl2vec.h; vbcstshfl: xdna-emu's note on hardware",
        "numpy; one vbcstshfl measured on silicon; the i8 matmul with B "
        " transposed of the corpus (vshuffle), reduce-add (vshift, vextract)",
    ),
    "vector_convert": (
        "llvm-aie: aiev2_srs.h, aiev2_ups.h, aiev2_defines.h, AIE2Schedule.td",
        "numpy, exact fractions; measured on silicon: bfloat16 in ten rounding modes, floor; "
        "gemm256 (ups, srs)",
    ),
    "vector_mac": (
        "llvm-aie: aiev2_vmult.h (mode word); mlir-aie: AIEVecToLLVM (words in use); UG1583 and UG1603 "
        "(convolutions); complex products: the masks that llvm-aie names, aie_api's butterflies; signs of "
        "the neg forms: xdna-emu's note on hardware",
        "numpy; i8 and i16 matmuls of the corpus",
    ),
    "vector_float": (
        "fitted to measurements: golden/silicon/vec_mac_bf16_ovf.json",
        "864 sums measured on silicon, bit for bit; the bf16 matmul of the corpus; exact sums in numpy",
    ),
    "vector_sparse": (
        "aie_api (sparse data format; mmul_8_8.hpp and its like: layout of the second factor); UG1583 "
        "(compressed and sparse loads); llvm-aie: aiev2_vmult.h, aiev2_scl2vec.h, AIE2Schedule.td",
        "numpy; the example buffer of aie_api; the pointers of UG1583's example",
    ),
}

DECISIONS = (
    (
        "Shifts of vsrs and vst.srs",
        "Six bits, of which 60 to 63 are -4 to -1: to the left, 64 bits are kept.",
        "UG1583, Shift-Round-Saturate: -4 to 59. It calls -4 to -2 unsafe with saturation; here saturation "
        "sees all 64 bits.",
    ),
    (
        "Table loads (vldb.4x16, 4x32, 4x64)",
        "A table has each row of 16 bytes twice. Within 32 bytes half of a lane's address is the place in "
        "the row, without the bits below an entry; even lanes take the first copy, odd ones the second. The "
        "rest of a lane's 64 bits is zero.",
        "mlir-aie's exp_ilut_ab (e^0 to e^7 twice, then e^8 to e^15 twice) with aie_api's index, the entry "
        "times 4 plus bits that nobody masks. Which lane takes which copy is a guess; valid tables do not "
        "show it, nor what fills the 64 bits.",
    ),
    (
        "Vector accesses at addresses that are not aligned",
        "The low bits of the address are left out, in loads and stores of 128 and 256 bits. Scalar accesses "
        "that are not aligned are an error.",
        "aie_api's unaligned accesses rely on the hardware's truncation (detail/ld_st.hpp, floor_ptr). No "
        "source says what scalar accesses do.",
    ),
    (
        "Accumulators in float sums (vmac.f, vadd.f and relatives)",
        "They are one more term: aligned to the largest exponent with 23 bits below it, each term rounded to "
        "nearest even there, the sum rounded to nearest even.",
        "The measured sums have no accumulator. The 24-bit mantissa of a float32 fits this grid exactly.",
    ),
    (
        "Infinite factors and accumulators in float sums",
        "An infinite term gives infinity of its sign, both signs or zero times infinity give NaN; NaN has "
        "the pattern that the measurements show.",
        "The measurements have NaN factors and overflow, but no infinite factor.",
    ),
    (
        "Subnormals in float sums",
        "Factors, accumulators and results below the normal range count as zero; a result keeps its sign.",
        "Only subnormal factors (three) are in the measurements.",
    ),
    (
        "vnegmac, vnegmsc",
        "-(acc + p) and -(acc - p).",
        "Headers name them without saying. xdna-emu notes for vnegmsc on hardware: accumulator negated, "
        "product not.",
    ),
    (
        "Lane by lane i8 products (mode 0,1,1)",
        "32 accumulators, each the sum of the products of lanes n and n + 32.",
        "As the 16-bit form, for which mlir-aie fills the upper lanes with zeros; for i8 it leaves them "
        "open.",
    ),
    (
        "sub_mask of the mode word with complex numbers (modes 1,3,4 and 1,0,1)",
        "Each bit negates one of the real products that a complex one is made of: bits 0 to 3 in the real "
        "part (xr*yr, xi*yi of the first pair of lanes, then of the second), 4 to 7 in the imaginary part "
        "(xr*yi, xi*yr). Where x has 32 bits the second pair stands for its other half: "
        "other masks are an error.",
        "It is what gives all six masks that llvm-aie names (aiev2_defines.h) their meaning; which pair "
        "comes first follows from the butterflies in aie_api's fft_dit.hpp.",
    ),
    (
        "sub_mask with real numbers",
        "An error that names the mode word.",
        "No intrinsic of llvm-aie sets it, and no public source says what it does.",
    ),
    (
        "Borrow of sub and sbc",
        "srCarry holds the borrow (1 where the difference is negative).",
        "llvm-aie selects sbc for a subtraction whose carry in is a borrow; the pair is right either way.",
    ),
    (
        "srCarry after abs",
        "1 where the operand was negative.",
        "Written according to AIE2GenInstrInfo.td; nobody says with what.",
    ),
    (
        "Status registers srSRS_of, srUPS_of, srFPFlags, srF2FFlags, srF2IFlags, srSparse_of, srCompr_uf",
        "Not changed by vector instructions.",
        "Their bits are not documented publicly, and no program of the corpus reads them.",
    ),
    (
        "Zero-overhead loop: LC after the last round",
        "Stays 1.",
        "The back edge counts down where LC > 1; no source says that the last pass counts too.",
    ),
    (
        "A zero-overhead loop's end and a branch that lands there",
        "The branch wins, and LC stays.",
        "No compiler writes it.",
    ),
    (
        "vshuffle modes whose matrix is smaller than a register (39 to 43, 46, 47)",
        "Every matrix in the low operand is transposed.",
        "The names give one matrix; what the rest of the register gets is not said.",
    ),
    (
        "vbcstshfl",
        "vshuffle of the broadcast and zeros by the low six bits of r29; mode 0 is an error.",
        "xdna-emu measured mode 26 on a Phoenix, and that mode 0 gives something else.",
    ),
    (
        "More than two values in a group of four of a sparse vector",
        "Those of the two highest mask bits are kept, the others dropped.",
        "UG1583 (2025.2) gives it for 0111; it calls the rest invalid.",
    ),
    (
        "What sparse and compressed loads have fetched",
        "Is read from memory when it is given away; fill, pop, peek and reset move the pointer by 32 bytes.",
        "UG1583's example has these pointers. How deep the buffer is, and srCompr_uf and srSparse_of, nobody "
        "says; a program that writes over data it has fetched would differ.",
    ),
    (
        "vshift by 64 and more",
        "Zero.",
        "xdna-emu's test generator says so of a Phoenix.",
    ),
    (
        "vshift.align",
        "With step 0 it is vshift; any other step is an error.",
        "llvm-aie's shiftx has the step but no description of it.",
    ),
    (
        "vldb.4x16, vldb.4x32",
        "The bits above the 16 or 32 that are loaded are zero.",
        "aie_api calls them unused gaps and drops them.",
    ),
    (
        "vlda.128, vldb.128, vmov of a mask register into a vector register",
        "The upper half becomes zero.",
        "Not said.",
    ),
    (
        "vmov.lo, vmov.hi from the cascade",
        "The other half of the accumulator becomes zero.",
        "The intrinsics are called expand_lo and expand_hi; two of them can then be added.",
    ),
    (
        "vfloor of infinities, NaN and out of range values",
        "The end of the range on the value's side.",
        "Measured are subnormals only.",
    ),
    (
        "vmax_lt.bf16 and its like with NaN; zeros of both signs",
        "No comparison with a NaN is less; zeros are equal.",
        "IEEE 754; not measured.",
    ),
    (
        "Partial-word stores",
        "Memory changes when the data is read, six bundles after issue; the bytes around are not touched.",
        "Hardware loads the word earlier and stores all of it; compilers keep other accesses away meanwhile.",
    ),
    (
        "A bundle that uses two ports (a stream word in and one out)",
        "Served in slot order; what is served stays so while the other one waits.",
        "Not said; values are the same either way.",
    ),
)


MISSING = (
    (
        "V*_cm_core_sparse_wide",
        "integer products with a first factor of 1024 bits: the one mode word that uses them is that of "
        "4-bit values (0,0,1), whose order in the register no public source says",
    ),
    ("V*_F_vmac_bm_core_sparse_narrow", "no public mode word has bfloat16 and a first factor of 512 bits"),
)


def page() -> str:
    opcodes = sorted((o for o in table().opcodes if not o.is_nop), key=lambda o: (o.slot, o.name))
    nops = [o.name for o in table().nops.values()]
    defined = [o for o in opcodes if has_meaning(o.name)]
    counts = Counter(o.slot for o in opcodes)
    lines = [
        "# Instructions: encoded, executed, and where their meaning comes from",
        "",
        "Generated by `scripts/generate_isa_coverage.py`; a test holds it to the code.",
        "",
        f"The table has {len(table().opcodes)} instructions: {len(opcodes)}, which are listed here, and the "
        f"{len(table().nops)} nops that fill empty slots ({', '.join(sorted(nops))}). All of them are "
        f"encoded and decoded; {len(defined)} of the {len(opcodes)} are executed, the others stop the "
        "emulator with an error that names them. A mode word or control register that "
        "asks for something nobody has described stops the emulator with an error that names it.",
        "",
        "By slot: " + ", ".join(f"{slot} {counts[slot]}" for slot in sorted(counts)) + ".",
        "",
        "## Not executed",
        "",
        *(f"- `{name}`: {reason}." for name, reason in MISSING),
        "",
        "## What public sources leave open, and what was decided",
        "",
        "| what | decision | why |",
        "|---|---|---|",
        *(f"| {what} | {decision} | {why} |" for what, decision, why in DECISIONS),
        "",
        "## Sources by module",
        "",
        "Each meaning is defined once, in `pipeline/isa/semantics/`; both engines evaluate that.",
        "",
        "| module | source | anchored by |",
        "|---|---|---|",
        *(f"| `{module}` | {source} | {anchor} |" for module, (source, anchor) in SOURCES.items()),
        "",
        "## All instructions",
        "",
        "| instruction | slot | assembly | meaning |",
        "|---|---|---|---|",
    ]
    for opcode in opcodes:
        function = function_of(opcode.name)
        meaning = "none" if function is None else f"`{function}`"
        lines.append(f"| {opcode.name} | {opcode.slot} | `{opcode.asm}` | {meaning} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    options = parser.parse_args()
    text = page()
    if options.check:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
