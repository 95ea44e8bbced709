"""What one instruction reads, writes and occupies, and in which stage of the pipeline.

`effects` derives it from the instruction's syntax in the table and from timing.py. The scheduler turns
two instructions' effects into the distance they must keep; the hazard checker does the same on bytes.

Stage s of an instruction that issues as bundle t happens at t + s - 1. A register read in stage s sees
what has landed by then; a write of stage d has landed for reads at t + d or later (one earlier for a
read that shares its bypass).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from . import timing
from .bundle import SlotInstruction
from .registers import units
from .table import Opcode


class Control(Enum):
    """How an instruction changes the flow of control, after its five delay slots (DONE: at once)."""

    JUMP = "jump"
    CONDITIONAL = "conditional"
    CALL = "call"
    RETURN = "return"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Access:
    """A read or write of one register without sub-registers, in a stage; `bypass` is "mov" or "vec"."""

    register: str
    stage: int
    bypass: str | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """A port or unit that is occupied in a stage. Two weak uses of one do not conflict."""

    resource: str
    stage: int
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """Stages in which memory is read and written (None: not)."""

    load: int | None
    store: int | None

    @property
    def last(self) -> int:
        return max(self.load or 0, self.store or 0)


@dataclass(frozen=True, slots=True)
class Effects:
    """All of it. `ordered` instructions (streams, cascade, events, counters) keep their order."""

    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    uses: tuple[Use, ...]
    memory: Memory | None
    control: Control | None
    lock: bool
    ordered: bool

    @property
    def partial_store(self) -> bool:
        """Whether it stores less than a word, as a load and a later store."""
        return self.memory is not None and self.memory.load is not None and self.memory.store is not None

    @property
    def shared_memory(self) -> bool:
        """Whether it touches memory that others may: all but the stack, which is the core's own.

        Peano leaves no room between lock operations and accesses by sp either.
        """
        return self.memory is not None and all(access.register != "SP" for access in self.reads)


@lru_cache(maxsize=1 << 16)
def effects(instruction: SlotInstruction) -> Effects:
    """The instruction's effects."""
    opcode = instruction.opcode
    reads, writes = _operand_accesses(instruction)
    for register in opcode.implicit:
        reads.append(Access(register, 1))
        if opcode.sched == "II_DIVS":  # the remainder goes in and out through r31
            writes.append(Access(register, 1))
    reads += [Access(*item) for item in timing.IMPLICIT_READS.get(opcode.sched, ())]
    writes += [Access(*item) for item in timing.IMPLICIT_WRITES.get(opcode.sched, ())]
    control = _CONTROL.get(opcode.sched)
    if control is Control.CALL:
        writes.append(Access("lr", timing.LINK_STAGE))
    if control is Control.RETURN:
        reads.append(Access("lr", 1))
    return Effects(
        reads=tuple(dict.fromkeys(reads)),
        writes=tuple(dict.fromkeys(writes)),
        uses=tuple(dict.fromkeys(_uses(instruction, reads, writes))),
        memory=_memory(opcode),
        control=control,
        lock=opcode.sched in _LOCKS,
        ordered=opcode.sched in _ORDERED,
    )


def result_operand(opcode: Opcode) -> str | None:
    """Name of the operand that is the instruction's result, if it has one."""
    if opcode.store or opcode.sched in _NO_RESULT or opcode.sched.startswith(("II_PADD", "II_NOP")):
        return None
    first = re.match(r"\$(\w+)", opcode.asm.partition(" ")[2])
    return None if first is None else opcode.tied.get(first[1], first[1])


def _operand_accesses(instruction: SlotInstruction) -> tuple[list[Access], list[Access]]:
    opcode = instruction.opcode
    reads: list[Access] = []
    writes: list[Access] = []
    result = result_operand(opcode)
    tied_results = set(opcode.tied.values())
    moves_pointer = "]," in opcode.asm.replace(" ", "") or opcode.sched.startswith(_POINTER_OUT)
    for operand in opcode.operands:
        value = instruction.operands[operand.name]
        if isinstance(value, int):
            continue
        name = operand.name
        is_result, is_mask = name == result, name == "cmp" and result == "d"
        for unit in units(value):
            if is_result:
                stage = timing.LATE_RESULTS.get(opcode.sched, opcode.latency or 1)
                writes.append(Access(unit, stage, _bypass(opcode, unit)))
            if is_mask:
                writes.append(Access(unit, timing.COMPARE_STAGE))
            if not (is_result or is_mask) or (is_result and name in tied_results):
                stage = timing.LATE_READS.get((opcode.sched, name), 1)
                reads.append(Access(unit, stage, _bypass(opcode, unit, source=True)))
            if (name == "ptr" and moves_pointer) or (name == "mod" and unit.startswith("dc")):
                writes.append(Access(unit, 1))
    if "[sp" in opcode.asm:
        reads.append(Access("SP", 1))
        if moves_pointer:
            writes.append(Access("SP", 1))
    return reads, writes


def _bypass(opcode: Opcode, unit: str, *, source: bool = False) -> str | None:
    """The bypass network of an operand (facts 2.2).

    Vector moves and the vector ALU of the mv slot forward x registers and the lower halves to each
    other; integer accumulator operations forward accumulators to each other; floating ones do not.
    """
    if opcode.slot == "mv":
        if not opcode.vector or opcode.sched in ("II_VUPS", "II_VSRSM"):
            return None
        wide = not opcode.sched.startswith(("II_VMOV_W", "II_VCONVfp32bf16"))
        return "mov" if unit.startswith("wl") or (wide and unit.startswith("wh")) else None
    if opcode.slot == "vec" and not opcode.sched.endswith("f") and unit.startswith("am"):
        return None if source and opcode.sched == "II_VMOV_D" else "vec"
    return None


def _memory(opcode: Opcode) -> Memory | None:
    if not (opcode.load or opcode.store):
        return None
    store = timing.STORE_STAGES.get(opcode.sched, timing.STORE_STAGE) if opcode.store else None
    return Memory(timing.LOAD_STAGE if opcode.load else None, store)


def _uses(instruction: SlotInstruction, reads: list[Access], writes: list[Access]) -> list[Use]:
    opcode = instruction.opcode
    sched = opcode.sched
    uses = [Use(port, access.stage) for access in writes for port in _write_ports(opcode, access)]
    data = _store_data(instruction)
    uses += [Use(port, access.stage) for access in reads for port in _read_ports(opcode, access, data)]
    if (opcode.load and opcode.slot == "lda") or sched == "II_VLDB_4X":
        uses.append(Use("load A", 2))
    if opcode.slot == "st" and opcode.store:
        uses.append(Use("store", 4 if sched.endswith("SRS") else 2))
    if sched.startswith("II_STHB"):
        uses.append(Use("store", timing.PARTIAL_STORE_STAGES + 1))
        uses.append(Use("R read v", timing.PARTIAL_STORE_STAGES))
        uses.append(Use("R write a", timing.PARTIAL_STORE_STAGES))
        uses += [Use("partial store", stage + 1) for stage in range(timing.PARTIAL_STORE_STAGES)]
    elif opcode.load or opcode.store:
        late = timing.STORE_STAGES.get(sched, timing.STORE_STAGE) - timing.STORE_STAGE if opcode.store else 0
        uses.append(Use("partial store", 1 + late, weak=True))
    if sched in ("II_LDA_TM", "II_ST_TM"):
        uses.append(Use("processor bus", 1))
    if sched.startswith("II_VSRS") or (opcode.store and sched.endswith("SRS")):
        uses.append(Use("SRS", 1))
    if sched == "II_VUPS" or (opcode.load and sched.endswith("UPS")):
        uses.append(Use("UPS", 1 if sched == "II_VUPS" else 7))
    if sched in _LOCKS:
        first, last = timing.SEMAPHORE_STAGES
        uses += [Use("semaphore", stage) for stage in range(first, last + 1)]
    if sched in timing.AVOID_SEMAPHORE:
        first, last = timing.AVOID_SEMAPHORE[sched]
        uses += [Use("semaphore", stage, weak=True) for stage in range(first, last + 1)]
    return uses


_ADDRESS_FILE = re.compile(r"(p|m|dj|dn|dc)\d")


def _write_ports(opcode: Opcode, access: Access) -> tuple[str, ...]:
    """Write ports of the register files. Pointers that an address mode moves have their own."""
    register = access.register
    if opcode.slot in ("lda", "ldb", "st") and access.stage == 1 and not opcode.sched.startswith("II_MOVA"):
        return ()
    address = _ADDRESS_FILE.fullmatch(register)
    if opcode.slot in ("mv", "lng") and not register.startswith(("w", "am", "q")):
        if opcode.sched in _CONTROL or opcode.sched == "II_MOV_CNTR":
            return ()
        # The r and s files share the m port, and moves into address registers pass through it.
        return ("RS write m", *([f"{address[1]} write m"] if address is not None else []))
    if address is not None:
        return (f"{address[1]} write m",)
    if register.startswith("r") and opcode.slot in ("alu", "lda"):
        return ("R write x" if opcode.slot == "alu" else "R write a",)
    if register.startswith("w"):
        return {"lda": ("W write a",), "st": ("W write a",), "mv": ("W write m",)}.get(opcode.slot, ())
    if register.startswith("am"):
        return ("CM write a" if opcode.slot == "vec" else "CM write m",)
    return ()


def _read_ports(opcode: Opcode, access: Access, stored: tuple[str, ...]) -> tuple[str, ...]:
    """Read ports that are shared between slots (facts 2.2: R_RV, P_RM, W_RS, CM_RM)."""
    register = access.register
    name = opcode.sched
    if register.startswith("am"):
        two_sources = name.startswith(("II_VACC", "II_VADDMAC"))
        reads_m = opcode.slot in ("st", "mv") or (opcode.slot == "vec" and two_sources)
        return ("CM read m",) if reads_m else ()
    if register.startswith("w"):
        return ("W read s",) if opcode.slot in ("st", "ldb") else ()
    if opcode.slot == "vec" and register.startswith("r"):
        return ("R read v",)
    data = register in stored
    if register.startswith("r"):
        return ("R read v",) if data else ()
    if _ADDRESS_FILE.fullmatch(register) is None:
        return ()
    moved = name.startswith("II_MOV") and opcode.slot == "mv"
    jumps = name in ("II_J_IND", "II_JL_IND", "II_JNZD")
    return ("P read m",) if data or moved or jumps else ()


def _store_data(instruction: SlotInstruction) -> tuple[str, ...]:
    """The scalar registers whose contents an instruction of the st slot sends to memory or a stream."""
    if instruction.opcode.slot != "st":
        return ()
    values = (instruction.operands.get(name) for name in ("mSclSt", "src", "id", "addr"))
    return tuple(value for value in values if isinstance(value, str))


_CONTROL = {
    "II_J": Control.JUMP,
    "II_J_IND": Control.JUMP,
    "II_JZ": Control.CONDITIONAL,
    "II_JNZ": Control.CONDITIONAL,
    "II_JNZD": Control.CONDITIONAL,
    "II_JL": Control.CALL,
    "II_JL_IND": Control.CALL,
    "II_RET": Control.RETURN,
    "II_DONE": Control.DONE,
}
_LOCKS = frozenset({"II_ACQ", "II_ACQ_COND", "II_REL", "II_REL_COND"})
_POINTER_OUT = ("II_VLDB_SPARSE", "II_VLDB_COMPR", "II_PADD")
_STREAM_WRITES = frozenset(
    name for name in timing.AVOID_SEMAPHORE if name not in ("II_MOV_SS", "II_VMOV_CASCADE_READ")
)
_ORDERED = frozenset({*timing.AVOID_SEMAPHORE, "II_EVENT", "II_DONE", "II_MOV_CNTR", "II_LDA_TM", "II_ST_TM"})
_NO_RESULT = frozenset(
    {*_LOCKS, *_STREAM_WRITES, *(name for name in _CONTROL if name != "II_JNZD"), "II_EVENT", "II_DONE"}
)
