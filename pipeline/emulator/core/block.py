"""One block of core code as LLVM assembly: straight-line bundles for one shape of what is in flight.

A block ends where a branch lands, at the last bundle of a zero-overhead loop, before a bundle that needs
the tile (the plain engine does those), where other code jumps to, or when it gets long. Everything here
follows plain.py step by step; the two must agree in the order in which things are put in flight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...isa.semantics.meaning import Branch, Effect, Stage, Store, Write
from ...isa.semantics.registers import register
from ...isa.semantics.value import I1, I20, I32, I64, Value
from .choices import choose
from .emission import STATUS_BUDGET, STATUS_FAULT, STATUS_LOOP, STATUS_STEP, Cached, Writer
from .flight import BranchKey, Key, Shape, StageKey, WriteKey, cells, sooner, stage_of, value_types
from .llvm_operations import compute
from .llvm_text import Operand, constant_operand, literal
from .places import Block, Jump, Place, Surroundings
from .plain import branch_key, conflict_mask
from .port_code import SERVED, serve
from .program import CannotIssue, Issue
from .state import BUNDLE_BASE, EXIT_PC, EXIT_SHAPE, FUEL, STACK_HIGH, STACK_LOW, STACK_PC, STALLS

WINDOW_BYTES = 256
"""A straight line is cut where it enters the next window: at the same places from wherever it began, so
that ways which join share their blocks; and so that little is left to the plain engine when a budget ends.
"""


@dataclass(frozen=True, slots=True)
class _Flying:
    key: Key
    values: tuple[Operand, ...]


class BlockTranslator:
    def __init__(self, around: Surroundings, place: Place) -> None:
        self._around = around
        self._program = around.program
        self._place = place
        self._writer = Writer(around.names, checked=around.checked)
        self._stalls: Operand | None = None
        """Cycles lost to bank conflicts in this block so far."""
        self._block = Block()
        self._loaded: dict[str, int] = {}
        """Where in the state a value in flight was loaded from, by its LLVM name."""
        self._flight = self._load(place.shape)
        self._count = 0
        self._refunds: list[tuple[int, int]] = []
        """Lines that give unused budget back, and how many bundles had issued there."""

    def translate(self) -> Block:
        pc: int | None = self._place.pc
        window = self._place.pc // WINDOW_BYTES
        while pc is not None:
            issue = self._issue(pc)
            cut = pc // WINDOW_BYTES != window or pc in self._around.survey.leaders
            window = pc // WINDOW_BYTES
            if issue is not None and issue.ports and self._can_serve(issue):
                self._port_bundle(issue)
                break
            if issue is None or issue.ports or (cut and self._count):
                if self._count:
                    self._go_to(pc)
                else:
                    self._leave_at(pc, STATUS_STEP)
                    if issue is not None:
                        self._block.jumps.extend(BlockTranslator(self._around, self._place).beyond(issue))
                break
            pc = self._bundle(issue)
        self._finish()
        return self._block

    def _can_serve(self, issue: Issue) -> bool:
        """Whether compiled code can try the bundle's port itself: where it does, the plain engine must not
        be asked to do the bundle again."""
        if len(issue.ports) != 1 or self._around.checked:
            return False
        use = issue.ports[0][1]
        keys = [flying.key for flying in self._flight]
        due = [stage_of(k, self._program) for k in keys if isinstance(k, StageKey) and k.due == 0]
        due += [meaning.stages[0] for meaning in issue.meanings]
        leaves = any(node.name == "choose" for stage in due for node in stage.order)
        return use.kind in SERVED and (use.condition is None or not use.results) and not leaves

    def _port_bundle(self, issue: Issue) -> None:
        """A block of one bundle, so that after it, and before it, execution can go on here."""
        if self._count:
            self._go_to(issue.bundle.address)
            return
        following = self._bundle(issue)
        if following is not None:
            self._go_to(following)

    def _serve(self, issue: Issue, overlays: Mapping[str, Mapping[int, Cached]]) -> dict[Value, Operand]:
        """Uses the bundle's port, or leaves before the bundle. Gives what comes back."""
        if not issue.ports or not self._can_serve(issue):
            return {}
        w, address = self._writer, issue.bundle.address
        use = issue.ports[0][1]
        environment: dict[Value, Operand] = {}
        done, other, skip = (w.names.fresh(name) for name in ("served", "other", "skipped"))
        args = [self._graph(arg, environment, overlays, address) for arg in use.args]
        if use.condition is not None:
            condition = self._graph(use.condition, environment, overlays, address)
            serving = w.names.fresh("serving")
            w.line(f"br {condition.typed}, label %{serving}, label %{skip}")
            w.label(serving)
        served, results = serve(w, use, args, self._now())
        w.line(f"br {served.typed}, label %{done}, label %{other}")
        w.label(other)
        self._side_exit()
        w.label(done)
        if use.condition is not None:
            w.line(f"br label %{skip}")
            w.label(skip)
        return dict(zip(use.results, results, strict=True))

    def _now(self) -> Operand:
        """Bundles issued before this one, and stalls, since the core was made."""
        w = self._writer
        base, fuel = w.load_state(BUNDLE_BASE, I64), w.load_state(FUEL, I64)
        issued = w.assign(I64, f"sub {base.typed}, {fuel.text}")
        self._refunds.append((len(w.lines), self._count))
        before = w.assign(I64, f"sub {issued.typed}, @")
        stalls = w.load_state(STALLS, I64)
        return w.assign(I64, f"add {before.typed}, {stalls.text}")

    def _graph(
        self,
        root: Value,
        environment: dict[Value, Operand],
        overlays: Mapping[str, Mapping[int, Cached]],
        address: int,
    ) -> Operand:
        """A value that depends on registers only."""
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [a for a in node.args if a not in environment]
            if node in environment or not missing:
                stack.pop()
                if node not in environment:
                    environment[node] = self._value(node, environment, overlays, address)
            else:
                stack.extend(missing)
        return environment[root]

    def beyond(self, issue: Issue) -> list[Jump]:
        """Where execution goes after a first bundle that the plain engine does, for exploration."""
        following = self._bundle(issue)
        if following is not None:
            self._jump_to(following)
        return [replace(jump, label=None) for jump in self._block.jumps]

    def _issue(self, pc: int) -> Issue | None:
        try:
            issue = self._program.issue(pc)
            if any(b.kind == "call" for m in issue.meanings for b in m.branches):
                self._program.return_address(pc)
        except CannotIssue:
            return None
        return issue

    # A bundle

    def _bundle(self, issue: Issue) -> int | None:
        """Emit one bundle; gives the next one's address, None where the block is over."""
        w, pc = self._writer, issue.bundle.address
        w.pc, w.accesses, w.unwritten = pc, [], []
        overlays = self._overlays()
        received = self._serve(issue, overlays)
        effects: list[tuple[Stage, Effect, dict[Value, Operand]]] = []
        later: list[_Flying] = []
        due = [f for f in self._flight if isinstance(f.key, StageKey) and f.key.due == 0]
        due += [_Flying(StageKey(0, pc, slot, 0), ()) for slot in range(len(issue.meanings))]
        for item in due:
            assert isinstance(item.key, StageKey)
            stage = stage_of(item.key, self._program)
            environment = self._run_stage(stage, item, overlays, received)
            effects.extend((stage, effect, environment) for effect in stage.effects)
            later.extend(self._next_stage(item.key, environment))
        loops = self._loops(pc)
        self._report_unwritten()
        self._flight = [f for f in self._flight if not (isinstance(f.key, StageKey) and f.key.due == 0)]
        for stage, effect, environment in effects:
            self._apply(stage, effect, environment, pc)
        self._flight.extend(later)
        self._count += 1
        self._count_conflicts()
        return self._advance(issue, loops)

    def _report_unwritten(self) -> None:
        """Where loads of unwritten bytes go: out of the block, before the bundle has changed anything."""
        w = self._writer
        if not w.unwritten:
            return
        go_on = w.names.fresh("written")
        w.line(f"br label %{go_on}")
        for label in w.unwritten:
            w.label(label)
            self._side_exit()
        w.label(go_on)

    def _count_conflicts(self) -> None:
        """As plain.bank_conflicts does."""
        w = self._writer
        for number, (address, size) in enumerate(w.accesses):
            meets: Operand | None = None
            for earlier, other in w.accesses[:number]:
                differs = w.assign(I32, f"xor {address.typed}, {earlier.text}")
                masked = w.assign(I32, f"and {differs.typed}, {conflict_mask(size, other)}")
                same = w.assign(I1, f"icmp eq {masked.typed}, 0")
                meets = same if meets is None else w.assign(I1, f"or {meets.typed}, {same.text}")
            if meets is not None:
                lost = w.assign(I64, f"zext {meets.typed} to i64")
                before = self._stalls
                self._stalls = lost if before is None else w.assign(I64, f"add {before.typed}, {lost.text}")

    def _overlays(self) -> dict[str, dict[int, Cached]]:
        """For each bypass, the cells that a read along it sees before they land."""
        overlays: dict[str, dict[int, Cached]] = {}
        for item in self._flight:
            key = item.key
            if isinstance(key, WriteKey) and key.due == 1 and key.bypass:
                cells_ = overlays.setdefault(key.bypass, {})
                self._writer.overlay(register(key.register), item.values[0], cells_)
        return overlays

    def _run_stage(
        self,
        stage: Stage,
        item: _Flying,
        overlays: Mapping[str, Mapping[int, Cached]],
        received: Mapping[Value, Operand],
    ) -> dict[Value, Operand]:
        assert isinstance(item.key, StageKey)
        environment = dict(zip(stage.captures, item.values, strict=True)) | dict(received)
        for node in stage.order:
            if node not in environment:
                environment[node] = self._value(node, environment, overlays, item.key.address)
        return environment

    def _value(
        self,
        node: Value,
        environment: dict[Value, Operand],
        overlays: Mapping[str, Mapping[int, Cached]],
        address: int,
    ) -> Operand:
        w = self._writer
        match node.name:
            case "constant":
                return constant_operand(node)
            case "read":
                assert node.read is not None
                return w.read_from(register(node.read.register), overlays.get(node.read.bypass))
            case "load":
                return w.load(environment[node.args[0]], node.type)
            case "received":
                return Operand(node.type, "poison")
            case "return_address":
                return literal(I20, self._program.return_address(address))
            case "choose":
                return self._choose(node, environment)
            case _:
                return compute(w, node, [environment[a] for a in node.args])

    def _apply(self, stage: Stage, effect: Effect, environment: dict[Value, Operand], pc: int) -> None:
        w = self._writer
        match effect:
            case Store():
                value = environment[effect.value]
                pointer = w.address(environment[effect.address], value.type.bits // 8)
                w.store(pointer, value)
            case Write():
                key = WriteKey(effect.ready - stage.offset, effect.register, effect.bypass)
                self._flight.append(_Flying(key, (environment[effect.value],)))
            case Branch():
                key = branch_key(effect, pc)
                values: list[Operand] = []
                if effect.condition is not None:
                    values.append(environment[effect.condition])
                if key.target is None:
                    values.append(environment[effect.target])
                self._flight.append(_Flying(key, tuple(values)))

    def _next_stage(self, key: StageKey, environment: dict[Value, Operand]) -> list[_Flying]:
        stages = self._program.issue(key.address).meanings[key.slot].stages
        if key.stage + 1 == len(stages):
            return []
        stage, current = stages[key.stage + 1], stages[key.stage]
        following = StageKey(stage.offset - current.offset, key.address, key.slot, key.stage + 1)
        return [_Flying(following, tuple(environment[v] for v in stage.captures))]

    def _loops(self, pc: int) -> Operand | None:
        """Whether the zero-overhead loop goes round after this bundle; None where it cannot end here."""
        if pc not in self._around.loop_ends:
            return None
        w = self._writer
        end, count = w.read(register("LE")), w.read(register("LC"))
        here = w.assign(I1, f"icmp eq {end.typed}, {pc}")
        more = w.assign(I1, f"icmp ugt {count.typed}, 1")
        return w.assign(I1, f"and {here.typed}, {more.text}")

    # Time goes on

    def _advance(self, issue: Issue, loops: Operand | None) -> int | None:
        w = self._writer
        landing: list[_Flying] = []
        remaining: list[_Flying] = []
        new_end: Operand | None = None
        for item in self._flight:
            key = sooner(item.key)
            if key.due > 0 or isinstance(key, StageKey):
                remaining.append(_Flying(key, item.values))
            elif isinstance(key, WriteKey):
                w.write(register(key.register), item.values[0])
                if key.register == "SP" and self._around.checked:
                    self._note_stack(item.values[0])
                if key.register == "LE":
                    new_end = item.values[0]
            else:
                landing.append(_Flying(key, item.values))
        self._flight = remaining
        watched = new_end is None or new_end.number in self._around.loop_ends
        if not landing and loops is None and watched:
            return issue.bundle.end
        if loops is not None:
            loops = self._count_down(loops, landing)
        self._save()
        if not watched:
            assert new_end is not None
            self._check_end(issue, new_end, landing, loops)
        for item in reversed(landing):
            if self._branch(item):
                return None
        if loops is not None:
            self._loop(issue, loops)
        w.line(f"br label %b{self._jump_to(issue.bundle.end)}")
        return None

    def _note_stack(self, pointer: Operand) -> None:
        """As the plain engine's `_note_stack` does."""
        w = self._writer
        value = w.resize(pointer, I32)
        for place, predicate in ((STACK_LOW, "ult"), (STACK_HIGH, "ugt")):
            old = w.load_state(place, I32)
            further = w.assign(I1, f"icmp {predicate} {value.typed}, {old.text}")
            w.store_state(place, w.assign(I32, f"select {further.typed}, {value.typed}, {old.typed}"))
            if place == STACK_HIGH:
                at = w.load_state(STACK_PC, I32)
                here = literal(I32, w.pc)
                w.store_state(STACK_PC, w.assign(I32, f"select {further.typed}, {here.typed}, {at.typed}"))

    def _count_down(self, loops: Operand, landing: list[_Flying]) -> Operand:
        """LC counts down where the loop goes round; a branch that lands here goes before."""
        w = self._writer
        for item in landing:
            assert isinstance(item.key, BranchKey)
            if not item.key.conditional:
                return literal(I1, 0)
            stays = w.assign(I1, f"xor {item.values[0].typed}, true")
            loops = w.assign(I1, f"and {loops.typed}, {stays.text}")
        count = w.read(register("LC"))
        less = w.assign(I32, f"sub {count.typed}, 1")
        w.write(register("LC"), w.assign(I32, f"select {loops.typed}, {less.typed}, {count.typed}"))
        return loops

    def _check_end(self, issue: Issue, end: Operand, landing: list[_Flying], loops: Operand | None) -> None:
        """LE got a computed value: the code watches certain addresses only. Leaves from the next bundle."""
        w = self._writer
        if landing or loops is not None:
            # Where to go on is not settled here, and no compiler writes this: the dispatcher sees to it,
            # as it compares LE with what the code watches each time that it enters.
            return
        known, unknown = w.names.fresh("known"), w.names.fresh("unknown")
        cases = " ".join(f"i20 {e}, label %{known}" for e in sorted(self._around.loop_ends))
        w.line(f"switch {end.typed}, label %{unknown} [ {cases} ]")
        w.label(unknown)
        self._leave(issue.bundle.end, STATUS_LOOP, self._shape())
        w.label(known)

    def _branch(self, item: _Flying) -> bool:
        """Emit a landing branch; true where nothing comes after it."""
        w, key = self._writer, item.key
        assert isinstance(key, BranchKey)
        shape = self._shape()
        after = self._program.return_address(key.origin) if key.kind == "call" else 0
        if key.target is not None:
            label = f"b{self._around.number(Place(key.target, shape))}"
            self._block.jumps.append(Jump(key.kind, shape, (key.target,), after=after))
        else:
            label = w.names.fresh("switch")
            targets = ()
            if key.kind != "return":
                targets = tuple(sorted(self._around.survey.code_pointers))
            jump = Jump(key.kind, shape, targets, label, item.values[-1], after)
            self._block.jumps.append(jump)
            if key.kind == "call" and targets:
                self._block.jumps.append(Jump("call", shape, after=after))
        if not key.conditional:
            w.line(f"br label %{label}")
            return True
        stay = w.names.fresh("stay")
        w.line(f"br {item.values[0].typed}, label %{label}, label %{stay}")
        w.label(stay)
        return False

    def _loop(self, issue: Issue, loops: Operand) -> None:
        w, pc = self._writer, issue.bundle.address
        starts = [s for s in self._around.survey.loop_starts if s <= pc]
        targets = (max(starts),) if starts else ()
        label, leave = w.names.fresh("switch"), w.names.fresh("leave")
        start = w.read(register("LS"))
        w.line(f"br {loops.typed}, label %{label}, label %{leave}")
        w.label(leave)
        self._block.jumps.append(Jump("jump", self._shape(), targets, label, start))

    def _jump_to(self, pc: int) -> int:
        """The number of the block at `pc` with what is in flight now."""
        shape = self._shape()
        self._block.jumps.append(Jump("jump", shape, (pc,)))
        return self._around.number(Place(pc, shape))

    def _go_to(self, pc: int) -> None:
        self._save()
        self._writer.line(f"br label %b{self._jump_to(pc)}")

    # What is in flight, and ways out

    def _shape(self) -> Shape:
        return tuple(item.key for item in self._flight)

    def _load(self, shape: Shape) -> list[_Flying]:
        places = iter(cells(shape, self._program))
        flight: list[_Flying] = []
        for key in shape:
            values: list[Operand] = []
            for _ in value_types(key, self._program):
                cell = next(places)
                value = self._writer.load_state(cell.offset, cell.type)
                self._loaded[value.text] = cell.offset
                values.append(value)
            flight.append(_Flying(key, tuple(values)))
        return flight

    def _save(self) -> None:
        """Registers and values in flight to the state, as the next block expects them."""
        self._writer.write_back()
        if self._stalls is not None:
            before = self._writer.load_state(STALLS, I64)
            total = self._writer.assign(I64, f"add {before.typed}, {self._stalls.text}")
            self._writer.store_state(STALLS, total)
        values = [value for item in self._flight for value in item.values]
        for cell, value in zip(cells(self._shape(), self._program), values, strict=True):
            if self._loaded.get(value.text) != cell.offset:
                self._writer.store_state(cell.offset, value)

    def _leave(self, pc: int, status: int, shape: Shape) -> None:
        w = self._writer
        w.store_state(EXIT_PC, literal(I32, pc))
        w.store_state(EXIT_SHAPE, literal(I32, self._around.shape_number(shape)))
        w.line(f"ret i32 {status}")

    def _leave_at(self, pc: int, status: int) -> None:
        self._save()
        self._leave(pc, status, self._shape())

    def _side_exit(self) -> None:
        """Leave before the current bundle, which the plain engine is to do."""
        w = self._writer
        fuel = w.load_state(FUEL, I64)
        self._refunds.append((len(w.lines), self._count))
        back = w.assign(I64, f"add {fuel.typed}, @")
        w.store_state(FUEL, back)
        self._leave_at(w.pc, STATUS_STEP)

    def _finish(self) -> None:
        w, names = self._writer, self._around.names
        if w.fault is not None:
            w.label(w.fault)
            self._leave(self._place.pc, STATUS_FAULT, self._place.shape)
        for line, done in self._refunds:
            w.lines[line] = w.lines[line].replace("@", str(self._count - done))
        head = Writer(names)
        head.label(f"b{self._around.number(self._place)}")
        if self._count:
            fuel = head.load_state(FUEL, I64)
            enough, go, stop = (names.fresh(p) for p in ("e", "go", "stop"))
            head.line(f"%{enough} = icmp sge {fuel.typed}, {self._count}")
            head.line(f"br i1 %{enough}, label %{go}, label %{stop}, !prof !1")
            head.label(stop)
            head.store_state(EXIT_PC, literal(I32, self._place.pc))
            head.store_state(EXIT_SHAPE, literal(I32, self._around.shape_number(self._place.shape)))
            head.line(f"ret i32 {STATUS_BUDGET}")
            head.label(go)
            left = head.assign(I64, f"sub {fuel.typed}, {self._count}")
            head.store_state(FUEL, left)
        self._block.lines = [*head.lines, *w.lines]
        self._block.bundles = self._count

    def _choose(self, node: Value, environment: dict[Value, Operand]) -> Operand:
        args = [environment[a] for a in node.args[1:]]
        return choose(self._around, self._writer, node, environment[node.args[0]], args, self._side_exit)
