"""What in a piece of machine code the pipeline would punish, found without knowing what it is for.

`find_hazards` walks all paths from the entries as far as the longest latency reaches and reports

- "unknown-instruction": code is reached that does not decode, or lies outside;
- "delay-slot": a branch in the delay slots of another;
- "alignment": a branch target, return address or loop edge that is not on 16 bytes;
- "port": two instructions want one port or unit in the same cycle (includes what keeps clear of
  partial-word stores and lock operations);
- "write-collision": two results land at once in one register;
- "write-order": a later instruction's result lands before an earlier one's in the same register;
- "exposed-read": a register is read while a result for it is in flight, so that the old value is seen;
- "lock-spacing": a load or store too near to a lock operation;
- "loop": a zero-overhead loop that breaks a rule of facts/aie2-isa.md 2.3.

Exposed reads and the order of writes can be on purpose: compilers use a register while a load into it
is in flight. Our assembler never does; the kernels that we pipeline by hand do, for operands only, and
tests/codegen/test_vector_kernel.py follows each product's operands through them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ..errors import ArtifactError
from .bundle import Bundle, SlotInstruction
from .decode import decode_bundle
from .dependences import WINDOW, conflicts
from .effects import Control, Effects, effects
from .timing import DELAY_SLOTS, LOCK_SPACING, STICKY, STORE_STAGE

ALIGNMENT = 16
LOOP_SETUP_BYTES = 112
"""From the bundle that writes ls, le or lc to the loop's last bundle, as real programs have it."""


@dataclass(frozen=True, slots=True)
class Hazard:
    """One finding at a byte address of program memory."""

    address: int
    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.address:#06x}: {self.kind}: {self.message}"


@dataclass(frozen=True, slots=True)
class _State:
    """A bundle about to issue, and the branch in whose delay slots it is: slots left, where it leads."""

    address: int
    left: int = 0
    target: int | None = None
    falls_through: bool = False


def find_hazards(
    code: bytes | bytearray | memoryview, *, base: int = 0, entries: Iterable[int] = (0,)
) -> tuple[Hazard, ...]:
    """All hazards in the code at byte address `base` that is reachable from `entries`, by address.

    Indirect jumps and returns end a path: what they lead to must be an entry, or follow a call.
    """
    return _Walk(code, base).run(entries)


class _Walk:
    """All states that the entries lead to, and the checks on them."""

    def __init__(self, code: bytes | bytearray | memoryview, base: int) -> None:
        self.code = code
        self.base = base
        self.found: set[Hazard] = set()
        self.bundles: dict[int, Bundle] = {}
        self.loops: dict[int, int] = {}  # address of the last bundle -> of the first
        self.following: dict[_State, list[_State]] = {}

    def run(self, entries: Iterable[int]) -> tuple[Hazard, ...]:
        starts = list(entries)
        self._explore(starts)
        self.loops = self._loops()
        self.following.clear()
        self._explore(starts)
        for state in self.following:
            if state.address in self.bundles:
                self._check_paths(state)
        for end, start in self.loops.items():
            self._check_loop(start, end)
        return tuple(sorted(self.found, key=lambda hazard: (hazard.address, hazard.kind, hazard.message)))

    def _report(self, address: int, kind: str, message: str) -> None:
        self.found.add(Hazard(address, kind, message))

    # ---- control flow ----

    def _explore(self, entries: Iterable[int]) -> None:
        work = [_State(entry) for entry in entries]
        while work:
            state = work.pop()
            if state in self.following:
                continue
            following, others = self._step(state)
            self.following[state] = following
            work += [*following, *others]

    def _step(self, state: _State) -> tuple[list[_State], list[_State]]:
        """The states that may follow a bundle at once, and those that only a return leads to."""
        bundle = self._bundle(state.address)
        if bundle is None:
            return [], []
        branch = next((slot for slot in bundle.slots if effects(slot).control is not None), None)
        control = effects(branch).control if branch is not None else None
        if control is Control.DONE:
            return [], []
        if branch is not None and state.left:
            self._report(bundle.address, "delay-slot", f"{branch.opcode.name} in a delay slot")
        if state.left == 1:
            falls = [_State(bundle.end)] if state.falls_through else []
            return [*falls, *([] if state.target is None else [_State(state.target)])], []
        if state.left:
            return [_State(bundle.end, state.left - 1, state.target, state.falls_through)], []
        if branch is None:
            back = [_State(self.loops[bundle.address])] if bundle.address in self.loops else []
            return [_State(bundle.end), *back], []
        address = branch.operands.get("cpmaddr")
        target = address if isinstance(address, int) else None
        if target is not None and target % ALIGNMENT:
            self._report(bundle.address, "alignment", f"{branch.opcode.name} to {target:#x}")
        others = self._return_point(bundle) if control is Control.CALL else []
        return [_State(bundle.end, DELAY_SLOTS, target, control is Control.CONDITIONAL)], others

    def _return_point(self, call: Bundle) -> list[_State]:
        address = call.end
        for _ in range(DELAY_SLOTS):
            bundle = self._bundle(address)
            if bundle is None:
                return []
            address = bundle.end
        if address % ALIGNMENT:
            self._report(call.address, "alignment", f"returns to {address:#x}")
        return [_State(address)]

    def _bundle(self, address: int) -> Bundle | None:
        if address not in self.bundles:
            try:
                bundle = decode_bundle(self.code, address - self.base)
            except ArtifactError as error:
                self._report(address, "unknown-instruction", error.message)
                return None
            self.bundles[address] = Bundle(address, bundle.size, bundle.format, bundle.slots)
        return self.bundles[address]

    # ---- zero-overhead loops ----

    def _loops(self) -> dict[int, int]:
        """Loops whose edges are set by constants: each ls with the le that is set nearest to it."""
        loops: dict[int, int] = {}
        edges: dict[str, int] = {}
        for address in sorted(self.bundles):
            for instruction in self.bundles[address].slots:
                register = instruction.operands.get("mMvSclDstCg")
                value = instruction.operands.get("i")
                if isinstance(value, int) and register in ("LS", "LE"):
                    edges[str(register)] = value
                if edges.keys() == {"LS", "LE"}:
                    loops[edges["LE"]] = edges["LS"]
                    edges = {}
        return loops

    def _check_loop(self, start: int, end: int) -> None:
        last = self.bundles.get(end)
        if last is None or start not in self.bundles:
            self._report(end, "loop", f"no bundle begins at {start:#x} or {end:#x}")
            return
        if start % ALIGNMENT or end % ALIGNMENT or last.size != ALIGNMENT:
            self._report(end, "loop", f"{start:#x} to {end:#x}, last bundle of {last.size} bytes")
        if any(effects(instruction).partial_store for instruction in last.slots):
            self._report(end, "loop", "a partial-word store in the last bundle")
        setup = [
            bundle.address
            for bundle in self.bundles.values()
            if bundle.address < end
            and any(
                write.register in ("LS", "LE", "LC")
                for instruction in bundle.slots
                for write in effects(instruction).writes
            )
        ]
        if setup and end - max(setup) < LOOP_SETUP_BYTES:
            self._report(end, "loop", f"set up only {end - max(setup)} bytes before")

    # ---- timing ----

    def _check_paths(self, state: _State) -> None:
        """Every instruction of this bundle against all that may issue before its effects are over."""
        bundle = self.bundles[state.address]
        for index, first in enumerate(bundle.slots):
            for second in bundle.slots[index + 1 :]:
                self._check_pair(bundle, first, bundle, second, 0)
        level = {state}
        for gap in range(1, WINDOW + 1):
            level = {after for before in level for after in self.following.get(before, ())}
            for address in {after.address for after in level} & self.bundles.keys():
                later = self.bundles[address]
                for first in bundle.slots:
                    for second in later.slots:
                        self._check_pair(bundle, first, later, second, gap)

    def _check_pair(
        self, bundle: Bundle, first: SlotInstruction, later: Bundle, second: SlotInstruction, gap: int
    ) -> None:
        for kind, what in _pair_hazards(first, second, gap):
            text = f"{what}{first.opcode.name} at {bundle.address:#x} and {second.opcode.name}"
            self._report(later.address, kind, text)


@lru_cache(maxsize=1 << 17)
def _pair_hazards(first: SlotInstruction, second: SlotInstruction, gap: int) -> tuple[tuple[str, str], ...]:
    """Kind and register of what is wrong with two instructions that issue `gap` bundles apart."""
    one, other = effects(first), effects(second)
    found: list[tuple[str, str]] = []
    if conflicts(one.uses, other.uses, gap):
        found.append(("port", ""))
    for write in one.writes:
        if write.register in STICKY:
            continue
        for again in other.writes:
            early = write.stage - again.stage - gap
            if again.register == write.register and (early == 0 or (gap and early > 0)):
                found.append(("write-order" if early else "write-collision", f"{write.register}: "))
        # Within a bundle all read before any writes: that is the rule, and no hazard.
        if gap and any(
            read.register == write.register
            and gap + read.stage <= write.stage - (write.bypass is not None and write.bypass == read.bypass)
            for read in other.reads
        ):
            found.append(("exposed-read", f"{write.register}: "))
    apart = _lock_spacing(one, other) if gap else max(_lock_spacing(one, other), _lock_spacing(other, one))
    if gap < apart:
        found.append(("lock-spacing", ""))
    return tuple(found)


def _lock_spacing(first: Effects, second: Effects) -> int:
    if first.lock and second.shared_memory:
        return LOCK_SPACING
    if first.memory is not None and first.shared_memory and second.lock:
        return LOCK_SPACING + max(0, first.memory.last - STORE_STAGE)
    return 0
