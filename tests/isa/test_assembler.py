"""The assembler against a machine that knows nothing of scheduling.

The statements are executed one after the other, and the emitted bytes on an exposed pipeline, both over
symbolic values: a result is a name made of the opcode and of what it read. Whatever the scheduler
reorders, overlaps across blocks or puts into delay slots, the two must end in the same state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.isa import assembly
from aiepipe.isa.assembler import (
    BundleStatement,
    CodeImage,
    Label,
    LoopEnd,
    ProgramStatement,
    Statement,
    assemble,
)
from aiepipe.isa.bundle import Bundle, SlotInstruction
from aiepipe.isa.decode import decode_bundle, decode_bundles
from aiepipe.isa.effects import Access, Control, effects
from aiepipe.isa.hazards import find_hazards
from aiepipe.isa.table import Opcode, table
from aiepipe.isa.timing import DELAY_SLOTS, STICKY

# A value is a number that stands for a whole expression; equal expressions have equal numbers.
_names: dict[tuple[object, ...], int] = {}


def named(*parts: object) -> int:
    return _names.setdefault(parts, len(_names))


@dataclass(frozen=True)
class Executed:
    """One executed instruction: at which bundle, and the memory regions it may touch."""

    time: int
    instruction: SlotInstruction
    regions: tuple[str, ...]


@dataclass
class Decisions:
    """Which conditional branches are taken, in the order they are met; then none is."""

    taken: list[bool]
    trips: int
    met: int = 0

    def next(self) -> bool:
        self.met += 1
        return self.met <= len(self.taken) and self.taken[self.met - 1]


REGIONS = ("a", "b")
MEMORY = (*REGIONS, "order")


def regions_of(memory: str | None) -> tuple[str, ...]:
    return REGIONS if memory is None else (memory,)


def kind_of(instruction: SlotInstruction) -> str:
    """The operation, the same for all encodings that do the same."""
    opcode = instruction.opcode
    if opcode.sched.startswith("II_PADD"):
        return "padd" + opcode.sched
    if opcode.name in ("MOVA_lda_cg", "MOVX_alu_cg", "MOV_mv_cg", "MOVXM_lng_cg"):
        return "movi"
    if opcode.name in ("OR", "MOV_mv_scl") and len({a.register for a in effects(instruction).reads}) == 1:
        return "copy"
    return opcode.asm.replace("vlda", "vldb").split("$", maxsplit=1)[0]


def final_state(executed: Sequence[Executed], *, exposed: bool, flags: bool) -> dict[str, object]:
    """Register and memory contents at the end, by symbolic name.

    exposed: time is in bundles and effects happen at their stages; otherwise one after the other.
    """
    machine = _Machine(executed, exposed, flags)
    registers = {register: machine.latest(register, None, None) for register in machine.writers}
    views = {
        (region, view): machine.memory(region, None, view) for region in MEMORY for view in ("lock", "stack")
    }
    return {**registers, **{f"{region} without {view}": value for (region, view), value in views.items()}}


@dataclass
class _Machine:
    executed: Sequence[Executed]
    exposed: bool
    flags: bool
    writers: dict[str, list[tuple[int, Access]]] = field(default_factory=dict[str, list[tuple[int, Access]]])
    stores: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])
    values: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        for index, entry in enumerate(self.executed):
            own = effects(entry.instruction)
            for write in own.writes:
                if self.matters(write.register):
                    self.writers.setdefault(write.register, []).append((index, write))
            for region in self.stored_regions(entry):
                self.stores.setdefault(region, []).append((self.store_time(entry), index))
        for region, entries in self.stores.items():
            entries.sort()
            for without in ("lock", "stack"):
                times = [time for time, index in entries if self.view(index) in ("", without)]
                assert len(set(times)) == len(times), f"two stores at once to {region}"

    def matters(self, register: str) -> bool:
        return register not in STICKY and (self.flags or register != "srCarry")

    def stored_regions(self, entry: Executed) -> tuple[str, ...]:
        own = effects(entry.instruction)
        if own.lock:
            return (*REGIONS, "order")
        if own.ordered:
            return ("order",)
        return entry.regions if own.memory is not None and own.memory.store is not None else ()

    def view(self, index: int) -> str:
        """What an instruction takes no notice of: the stack is private, so locks and it need no order."""
        own = effects(self.executed[index].instruction)
        if own.lock:
            return "stack"
        return "lock" if own.memory is not None and not own.shared_memory else ""

    def store_time(self, entry: Executed) -> int:
        own = effects(entry.instruction)
        stage = own.memory.store if own.memory is not None and own.memory.store is not None else 5
        return entry.time + (stage - 1 if self.exposed else 0)

    def value(self, index: int) -> int:
        if index not in self.values:
            entry = self.executed[index]
            own = effects(entry.instruction)
            inputs = {
                self.latest(read.register, entry.time + (read.stage - 1 if self.exposed else 0), read)
                for read in own.reads
                if self.matters(read.register)
            }
            numbers = [value for value in entry.instruction.operands.values() if isinstance(value, int)]
            regions = self.stored_regions(entry)
            if own.memory is not None and own.memory.load is not None:
                regions = (*regions, *entry.regions)
                time = entry.time + (own.memory.load - 1 if self.exposed else 0)
            else:
                time = self.store_time(entry)
            views = [self.view(index)] if self.view(index) else ["lock", "stack"]
            seen = [self.memory(region, time, view) for region in dict.fromkeys(regions) for view in views]
            self.values[index] = named(kind_of(entry.instruction), *sorted(inputs), "|", *numbers, "|", *seen)
        return self.values[index]

    def latest(self, register: str, time: int | None, read: Access | None) -> int:
        """What a read of the register at `time` sees; at the end when None."""
        best: tuple[int, int] | None = None
        for index, write in self.writers.get(register, ()):
            lands = self.executed[index].time + (write.stage if self.exposed else 1)
            forwarded = read is not None and None is not write.bypass == read.bypass
            if time is None or lands - (self.exposed and forwarded) <= time:
                assert best is None or best[0] != lands, f"two results land at once in {register}"
                if best is None or best[0] < lands:
                    best = (lands, index)
        return named("initial", register) if best is None else named(self.value(best[1]), register)

    def memory(self, region: str, time: int | None, without: str) -> int:
        """The stores to a region before `time`; `without` those of locks, or those to the stack."""
        stores = [index for when, index in self.stores.get(region, ()) if time is None or when < time]
        kinds = {"stack": "lock", "lock": "stack"}
        hidden = {index for index in stores if self.view(index) == kinds[without]}
        return named(region, *(self.value(index) for index in stores if index not in hidden))


def run_in_order(
    program: Sequence[ProgramStatement],
    labels: Mapping[str, int],
    memory: Mapping[str, str | None],
    decisions: Decisions,
) -> list[Executed]:
    """The statements as they stand, one after the other."""
    places = {entry.name: index for index, entry in enumerate(program) if isinstance(entry, Label)}
    executed: list[Executed] = []
    returns: list[int] = []
    trips: dict[str, int] = {}
    position = 0
    while position < len(program):
        entry = program[position]
        position += 1
        if isinstance(entry, LoopEnd):
            trips[entry.name] = trips.get(entry.name, 0) + 1
            if trips[entry.name] % decisions.trips:
                position = places[entry.start]
        if not isinstance(entry, Statement):
            continue
        parsed = assembly.parse_statement(entry.text)
        operands = dict(parsed.alternatives[0].operands)
        if parsed.symbol is not None:
            operands[parsed.symbol.operand] = labels[parsed.symbol.label]
        instruction = SlotInstruction(parsed.alternatives[0].opcode, operands)
        region = memory[assembly.print(parsed.alternatives[0])]
        executed.append(Executed(len(executed), instruction, regions_of(region)))
        control = effects(instruction).control
        if control is Control.DONE:
            break
        if control is Control.RETURN:
            position = returns.pop()
        elif control is not None and (control is not Control.CONDITIONAL or decisions.next()):
            if control is Control.CALL:
                returns.append(position)
            assert parsed.symbol is not None
            position = places[parsed.symbol.label]
    return executed


def run_bundles(
    image: CodeImage, memory: Mapping[str, str | None], loops: Mapping[str, str], decisions: Decisions
) -> list[Executed]:
    """The emitted bytes: bundle by bundle, five delay slots after a branch, loops at their last bundle."""
    ends = {image.labels[name]: (name, image.labels[start]) for name, start in loops.items()}
    executed: list[Executed] = []
    returns: list[int] = []
    trips: dict[str, int] = {}
    pc, time = 0, 0
    pending: tuple[int, int] | None = None
    while pc < len(image.code):
        bundle = decode_bundle(image.code, pc)
        following = bundle.end
        if pending is not None and pending[0] == time:
            following, pending = pending[1], None
        for instruction in bundle.slots:
            text = assembly.print(instruction)
            executed.append(Executed(time, instruction, regions_of(memory.get(text))))
            control = effects(instruction).control
            if control is Control.DONE:
                return executed
            if control is None or (control is Control.CONDITIONAL and not decisions.next()):
                continue
            assert pending is None, "a branch in a delay slot"
            target = returns.pop() if control is Control.RETURN else instruction.immediate("cpmaddr")
            if control is Control.CALL:
                returns.append(_after_delay_slots(image, pc))
            assert target % 16 == 0
            pending = (time + DELAY_SLOTS, target)
        if pc in ends:
            name, start = ends[pc]
            assert (pc % 16, bundle.size) == (0, 16)
            trips[name] = trips.get(name, 0) + 1
            if trips[name] % decisions.trips:
                following = start
        pc = following
        time += 1
    return executed


def _after_delay_slots(image: CodeImage, pc: int) -> int:
    for _ in range(DELAY_SLOTS + 1):
        pc = decode_bundle(image.code, pc).end
    assert pc % 16 == 0, "a return address that is not aligned"
    return pc


def alternatives_of(entry: ProgramStatement) -> tuple[SlotInstruction, ...]:
    return assembly.parse_statement(entry.text).alternatives if isinstance(entry, Statement) else ()


def check(
    program: Sequence[ProgramStatement],
    taken: list[bool],
    trips: int = 3,
    emitted: Sequence[ProgramStatement] | None = None,
) -> CodeImage:
    """Assembles, runs both ways and compares. `emitted` has bundles in place of statements."""
    memory: dict[str, str | None] = {}
    for entry in program:
        for alternative in alternatives_of(entry):
            text = assembly.print(alternative)
            wanted_region = entry.memory if isinstance(entry, Statement) else None
            memory[text] = wanted_region if memory.get(text, wanted_region) == wanted_region else None

    def told(entry: ProgramStatement) -> ProgramStatement:
        """The statement with the region that all statements of its text have in the comparison."""
        regions = {memory[assembly.print(alternative)] for alternative in alternatives_of(entry)}
        if not isinstance(entry, Statement):
            return entry
        return replace(entry, memory=regions.pop() if len(regions) == 1 else None)

    image = assemble([told(entry) for entry in (program if emitted is None else emitted)])
    loops = {entry.name: entry.start for entry in program if isinstance(entry, LoopEnd)}
    wanted = run_in_order(program, image.labels, memory, Decisions(list(taken), trips))
    got = run_bundles(image, memory, loops, Decisions(list(taken), trips))
    assert len(wanted) == len(got)
    flags = any(a.register == "srCarry" for e in wanted for a in effects(e.instruction).reads)
    assert final_state(got, exposed=True, flags=flags) == final_state(wanted, exposed=False, flags=flags)
    # The order of srCarry's writers does not matter where nobody reads it.
    hazards = [str(hazard) for hazard in find_hazards(image.code)]
    assert [hazard for hazard in hazards if flags or "srCarry" not in hazard] == []
    return image


# ---- programs of random instructions --------------------------------------------------------------

_AVOIDED = ("II_NOP", "II_MOV_CNTR", "II_LDA_TM", "II_ST_TM", "II_DONE")
_AVOIDED_REGISTERS = ("LS", "LE", "LC", "SP", "DP", "lr", "CORE_ID")


def _usable(opcode: Opcode) -> bool:
    branches = ("II_J", "II_RET", "II_VLDB_SPARSE", "II_VLDB_COMPR")
    return opcode.sched not in _AVOIDED and not opcode.sched.startswith(branches)


OPCODES = [opcode for opcode in table().opcodes if _usable(opcode)]
COMMON = [
    opcode
    for opcode in OPCODES
    if not opcode.vector
    or opcode.sched in ("II_VMAC", "II_VMACf", "II_VADD", "II_VLDA_W", "II_VLDB", "II_VST_W")
]


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    opcode = draw(st.sampled_from(OPCODES) | st.sampled_from(COMMON))
    operands: dict[str, str | int] = {}
    for operand in opcode.operands:
        if operand.kind == "reg":
            names = [
                name
                for name in operand.codes
                if not name.startswith(("cr", "sr")) and name not in _AVOIDED_REGISTERS
            ] or list(operand.codes)
            operands[operand.name] = draw(st.sampled_from(names[:6]))
        else:
            operands[operand.name] = operand.immediates[draw(st.integers(0, 3))]
    text = assembly.print(SlotInstruction(opcode, operands))
    memory = "ab"[draw(st.integers(0, 1))] if opcode.name.endswith("imm") else None
    return Statement(text, memory=memory if draw(st.booleans()) else None)


bodies = st.lists(statements(), min_size=0, max_size=10)
outcomes = st.lists(st.booleans(), max_size=6)


@settings(max_examples=150, deadline=None)
@given(bodies, bodies)
def test_straight_code_means_what_its_order_says(one: list[Statement], other: list[Statement]) -> None:
    check([*one, *other, Statement("done")], [])


@settings(max_examples=100, deadline=None)
@given(bodies, bodies, bodies, bodies, outcomes)
def test_branches_and_loops_mean_what_they_say(
    before: list[Statement],
    body: list[Statement],
    skipped: list[Statement],
    after: list[Statement],
    taken: list[bool],
) -> None:
    program = [
        *before,
        Label("loop"),
        *body,
        Statement("jz r1, skip"),
        *skipped,
        Label("skip"),
        *after[:2],
        Statement("jnz r0, loop"),
        *after,
        Statement("done"),
    ]
    check(program, taken)


@settings(max_examples=100, deadline=None)
@given(bodies, bodies, bodies, outcomes)
def test_a_tight_loop_on_itself(
    before: list[Statement], body: list[Statement], after: list[Statement], taken: list[bool]
) -> None:
    check([*before, Label("loop"), *body, Statement("jnz r0, loop"), *after, Statement("done")], taken)


@settings(max_examples=100, deadline=None)
@given(bodies, bodies, bodies, st.integers(1, 4))
def test_zero_overhead_loops(
    before: list[Statement], body: list[Statement], after: list[Statement], trips: int
) -> None:
    program = [
        *before,
        Statement("movxm ls, #start"),
        Statement("movxm le, #last"),
        Statement("movi lc, #3"),
        Label("start"),
        *body,
        Statement("add r0, r0, #1"),
        LoopEnd("last", "start"),
        *after,
        Statement("done"),
    ]
    image = check(program, [], trips)
    assert image.labels["start"] % 16 == 0
    setup = max(
        bundle.address
        for bundle in bundles_of(image)
        for instruction in bundle.slots
        if {"LS", "LE", "LC"} & {write.register for write in effects(instruction).writes}
    )
    assert image.labels["last"] - setup >= 112  # facts 2.3


@settings(max_examples=60, deadline=None)
@given(bodies, bodies, bodies)
def test_calls_and_returns(before: list[Statement], callee: list[Statement], after: list[Statement]) -> None:
    program = [
        *before,
        Statement("jl callee"),
        *after,
        Statement("jl callee"),
        Statement("done"),
        Label("callee"),
        *callee,
        Statement("ret lr"),
    ]
    check(program, [])


@settings(max_examples=100, deadline=None)
@given(bodies, bodies, bodies, bodies, outcomes)
def test_short_blocks_that_many_paths_cross(
    first: list[Statement],
    one: list[Statement],
    two: list[Statement],
    three: list[Statement],
    taken: list[bool],
) -> None:
    program = [
        *first[:3],
        Label("a"),
        *one[:2],
        Label("b"),
        *two[:2],
        Label("c"),
        *three[:2],
        Statement("jnz r0, a"),
        Label("d"),
        *first[3:5],
        Statement("jz r1, b"),
        *one[2:4],
        Statement("jnz r0, d"),
        *two[2:4],
        Statement("jnz r2, c"),
        *three,
        Statement("done"),
    ]
    check(program, taken)


@settings(max_examples=100, deadline=None)
@given(bodies, bodies, bodies, outcomes)
def test_code_around_hand_written_bundles_waits_for_what_it_needs(
    before: list[Statement], middle: list[Statement], after: list[Statement], taken: list[bool]
) -> None:
    ends = [Statement("jnz r0, loop"), *after, Statement("done")]
    fixed = [BundleStatement(map(assembly.print, bundle.slots)) for bundle in bundles_of(assemble(middle))]
    check([Label("loop"), *before, *middle, *ends], taken, emitted=[Label("loop"), *before, *fixed, *ends])


def bundles_of(image: CodeImage) -> list[Bundle]:
    return list(decode_bundles(image.code))


# ---- by example ------------------------------------------------------------------------------------


def texts(image: CodeImage) -> list[str]:
    """The listing's bundles without addresses, sizes and comments."""
    lines = [line for line in image.listing if not line.endswith(":")]
    return [line.split("  //")[0][12:] for line in lines]


def of(*lines: str) -> list[ProgramStatement]:
    return [Statement(line) for line in lines]


def test_a_load_is_waited_for_seven_bundles() -> None:
    assert texts(assemble(of("lda r0, [p0, #0]", "add r1, r0, r0")))[:8] == [
        "lda r0, [p0, #0]",
        *["nop"] * 6,
        "add r1, r0, r0",
    ]


def test_accumulators_chain_every_second_bundle() -> None:
    lines = texts(assemble(of(*["vmac cm0, cm0, x0, x1, r0"] * 3)))
    assert lines[:5] == ["vmac cm0, cm0, x0, x1, r0", "nop"] * 2 + ["vmac cm0, cm0, x0, x1, r0"]


def test_floating_accumulators_chain_every_fourth_bundle() -> None:
    lines = texts(assemble(of(*["vmac.f bml0, bml0, x0, x1, r0"] * 2)))
    assert lines[:5] == ["vmac.f bml0, bml0, x0, x1, r0", *["nop"] * 3, "vmac.f bml0, bml0, x0, x1, r0"]


def test_vector_moves_forward_to_each_other_in_the_next_bundle() -> None:
    lines = texts(assemble(of("vbcst.32 x0, r0", "vadd.32 x1, x0, x0", "vst wl1, [p0, #0]")))
    assert lines[:4] == ["vbcst.32 x0, r0", "vadd.32 x1, x0, x0", "nop", "vst wl1, [p0, #0]"]


def test_pointer_steps_go_to_the_slot_that_is_free() -> None:
    lines = texts(assemble(of("padd [p0], #4", "padd [p1], #4", "padd [p2], #4")))
    assert lines[0] == "padda [p0], #4; paddb [p1], #4; padds [p2], #4"


def test_loads_that_cannot_overlap_pass_stores() -> None:
    store = Statement("st r0, [p0, #0]", memory="c")
    assert texts(assemble([store, Statement("lda r1, [p1, #0]", memory="a")]))[0].count(";") == 1
    assert texts(assemble([store, Statement("lda r1, [p1, #0]")]))[0] == "st r0, [p0, #0]"


def test_lock_operations_keep_four_bundles_from_memory() -> None:
    lines = texts(assemble(of("st r0, [p0, #0]", "rel #49, r1", "acq #48, r2", "lda r3, [p1, #0]")))
    assert [index for index, line in enumerate(lines) if line != "nop"][:4] == [0, 4, 8, 12]


def test_a_store_with_shift_keeps_six_bundles_before_a_release() -> None:
    lines = texts(assemble(of("vst.srs.s16.s32 bml0, s0, [p0, #0]", "rel #49, r1")))
    assert lines.index("rel #49, r1") == 6  # facts 2.5


def test_a_branch_has_useful_work_in_its_delay_slots() -> None:
    program = [Label("l"), *of(*[f"add r{n}, r{n}, #1" for n in range(1, 7)], "jnz r0, l", "done")]
    lines = texts(assemble(program))
    assert lines.index("jnz r0, #0") == 1
    assert "nop" not in lines[: lines.index("done")]


def test_targets_and_return_addresses_are_aligned_without_more_bundles() -> None:
    image = assemble([*of("add r0, r0, #1", "jl f", "done"), Label("f"), *of("ret lr")])
    assert image.labels["f"] % 16 == 0
    assert len(texts(image)) == 6 + 6 + 6


def test_the_base_address_moves_labels_and_targets() -> None:
    image = assemble([*of("j end"), Label("end"), *of("movxm p0, #end", "done")], base=0x200)
    assert image.labels["end"] == 0x210
    assert "movxm p0, #528" in texts(image)


def test_comments_stand_in_the_listing() -> None:
    listing = assemble([Label("start"), Statement("add r0, r0, #1", comment="count")]).listing
    assert listing == ("start:", "0x0000   4  add r0, r0, #1  // count")


def test_hand_written_bundles_are_emitted_as_they_are() -> None:
    image = assemble(
        [
            BundleStatement(["lda r0, [p0], #4", "add r0, r0, #1"], comment="old r0"),
            BundleStatement(["nop"]),
            BundleStatement(["add r1, r0, r0"], size=16),
        ]
    )
    assert texts(image) == ["lda r0, [p0], #4; add r0, r0, #1", "nop", "add r1, r0, r0"]
    assert len(image.code) == 6 + 2 + 16


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ([Statement("j nowhere")], "'nowhere' is not defined"),
        ([Label("a"), Statement("done"), Label("a")], "'a' is defined twice"),
        ([Statement("add r0, r0, #100")], "operands do not fit"),
        ([BundleStatement(["add r0, r0, #1", "sub r1, r1, r2"])], "no bundle holds"),
        ([BundleStatement(["add r0, r0, #1"], size=2)], "no bundle of 2 bytes holds"),
        ([Label("a"), BundleStatement(["j a"]), BundleStatement([])], "fewer than 5 bundles after it"),
        ([Label("a"), LoopEnd("b", "a")], "has no body"),
        ([Label("a"), BundleStatement(["st.s8 r0, [p0, #0]"]), LoopEnd("b", "a")], "partial-word store"),
        ([Label("a"), BundleStatement([], size=4), BundleStatement([]), LoopEnd("b", "a")], "fixed size"),
    ],
)
def test_programs_that_cannot_be_assembled(program: list[ProgramStatement], message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        assemble(program)
