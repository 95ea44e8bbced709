"""Writes pipeline/isa/aie2.json, the instruction table that the package carries, from the facts file.

    python scripts/generate_isa_table.py [FACTS_JSON] [OUTPUT_JSON]

The facts file (by default ../shared/facts/aie2-isa.json) expresses the encodings of Xilinx/llvm-aie
(Apache-2.0 WITH LLVM-exception) as data. Our form differs where that makes reading it simpler:

- every register class is a flat list indexed by the operand's code, the composite ones too;
- the order in `registers[class]` is the code, `null` is a code that names nothing;
- where several codes name one register (bits that do not matter), the lowest is the one that LLVM's
  code emitter writes (AIE2MCCodeEmitterRegOperandDef.h);
- code 89 of the scalar load and store classes, which LLVM's disassembler also takes for p5, is a hole:
  the emitter's rule for p registers is `number << 4 | 0b1101`, so that p5 is 93;
- the spill immediates that are always negative ("imm12x32_neg" in AIE2InstrInfo.td: 17 bits signed,
  -65536 .. -16 for step 16, with the sign bit not stored) have the kind "nimm" of their own;
- masks and values are numbers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
FACTS = REPOSITORY.parent / "shared" / "facts" / "aie2-isa.json"
OUTPUT = REPOSITORY / "pipeline" / "isa" / "aie2.json"

SOURCE = "Xilinx/llvm-aie, llvm/lib/Target/AIE/aie2 (Apache-2.0 WITH LLVM-exception), expressed as data"

# The accumulator quarter and the 256-bit register classes that the composite operands refer to.
_AM, _W, _BM, _BM_SHUFFLE, _X, _Q = "mAMm", "mWm_1", "mBMm", "mBMSm", "mXm", "mQQm"

_P5_TYPO = 89


def generate(facts: dict[str, Any]) -> dict[str, Any]:
    """The package's table from the facts file's contents."""
    registers = {
        name: [None if register == "0" else register for register in members]
        for name, members in facts["register_classes"].items()
    }
    for name in ("mLdaScl", "mLdaCg", "mSclSt", "mSclMS"):
        registers[name][_P5_TYPO] = None
    registers.update(_composites(registers))
    return {
        "source": SOURCE,
        "slots": {name: slot["width"] for name, slot in facts["slots"].items()},
        "formats": [_format(entry) for entry in facts["bundle_formats"]],
        "registers": registers,
        "opcodes": [
            _opcode(name, slot, entry)
            for slot, contents in facts["slots"].items()
            for name, entry in contents["instructions"].items()
        ],
    }


def _format(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": entry["name"],
        "size_bytes": entry["bits"] // 8,
        "mask": int(entry["mask"], 16),
        "value": int(entry["value"], 16),
        "offsets": {slot: offset for slot, (offset, _) in entry["slots"].items()},
    }


def _opcode(name: str, slot: str, entry: dict[str, Any]) -> dict[str, Any]:
    opcode: dict[str, Any] = {
        "name": name,
        "slot": slot,
        "asm": entry["asm"],
        "mask": int(entry["mask"], 16),
        "value": int(entry["value"], 16),
        "operands": [_operand(operand) for operand in entry["operands"]],
        "sched": entry["sched"],
    }
    if "latency" in entry:
        opcode["latency"] = entry["latency"]
    if "implicit" in entry:  # "eR27" names the class of one register that LLVM uses; we name the register
        opcode["implicit"] = sorted({"r" + item.removeprefix("eR") for item in entry["implicit"]})
    if "tied" in entry:
        opcode["tied"] = entry["tied"]
    opcode["flags"] = [flag for flag in ("load", "store", "vector") if entry.get(flag)]
    return opcode


def _operand(entry: dict[str, Any]) -> dict[str, Any]:
    if entry["kind"] == "reg":
        return {"name": entry["name"], "bits": entry["bits"], "kind": "reg", "class": entry["class"]}
    always_negative = bool(entry.get("args", [0, 0, 0, 0])[2])
    kind = "nimm" if always_negative else entry["kind"]
    return {"name": entry["name"], "bits": entry["bits"], "kind": kind, "scale": entry["scale"]}


def _composites(classes: dict[str, list[str | None]]) -> dict[str, list[str | None]]:
    """The composite classes of AIE2RegOperandDef.td as flat lists."""

    def pick(name: str, index: int) -> str | None:
        members = classes[name]
        return members[index] if index < len(members) else None

    def move_source(code: int) -> str | None:  # 9 bits
        if code >> 6 == 0b110:
            return pick(_W, code & 31)
        if code >> 6 == 0b111:
            return pick(_Q, (code >> 4) & 3)
        return pick(_AM, code >> 3) if code & 0b101 == 0b001 else None

    def move_destination(code: int) -> str | None:  # 7 bits
        if code & 1:
            return pick(_AM, code >> 1)
        return pick(_Q, code >> 5) if code & 2 else pick(_W, code >> 2)

    def wide_source(code: int) -> str | None:  # 9 bits
        half = pick(_BM, code >> 4)
        if half is not None:
            return half
        return pick(_X, code & 15) if code >> 7 == 0b11 else None

    def wide_destination(code: int) -> str | None:  # 6 bits; with 0b10 `vmov MCD` would also be vpack.d4.d8
        if code & 1:
            return pick(_BM, code >> 1)
        return None if code & 2 else pick(_X, code >> 2)

    return {
        "mAluCg": ["LC" if code & 1 else pick("eR", code >> 1) for code in range(64)],
        "mMvAMWQSrc": [move_source(code) for code in range(512)],
        "mMvAMWQDst": [move_destination(code) for code in range(128)],
        "mMvBMXSrc": [wide_source(code) for code in range(512)],
        "mMvBMXDst": [wide_destination(code) for code in range(64)],
        "mShflDst": [pick(_BM_SHUFFLE, code >> 1) if code & 1 else pick(_X, code >> 1) for code in range(32)],
    }


def dump(table: dict[str, Any]) -> str:
    """JSON with one format, class or opcode per line, so that a change is a readable diff."""
    lines = ["{"]
    for key in ("source", "slots"):
        lines.append(f" {json.dumps(key)}: {json.dumps(table[key])},")
    lines.append(' "registers": {')
    lines.append(",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in table["registers"].items()))
    lines.append(" },")
    for key in ("formats", "opcodes"):
        lines.append(f" {json.dumps(key)}: [")
        lines.append(",\n".join(f"  {json.dumps(item)}" for item in table[key]))
        lines.append(" ]" if key == "opcodes" else " ],")
    return "\n".join([*lines, "}"]) + "\n"


def main(arguments: list[str]) -> None:
    facts = Path(arguments[0]) if arguments else FACTS
    output = Path(arguments[1]) if len(arguments) > 1 else OUTPUT
    output.write_text(dump(generate(json.loads(facts.read_text()))))


if __name__ == "__main__":
    main(sys.argv[1:])
