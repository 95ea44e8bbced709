"""One core: program, registers, and the engine that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from ...errors import EmulationError
from ...isa.semantics import UndefinedMode
from ...isa.semantics.registers import register
from .fast_port import HasFastPort
from .jit import JitEngine
from .plain import PlainEngine
from .port import CoreChecks, CorePort, CoreStop
from .program import PROGRAM_BYTES, CannotIssue, Program
from .regions import default_store
from .service import Fault
from .state import (
    NO_STACK,
    OUTSIDE_PC,
    STACK_HIGH,
    STACK_LOW,
    STACK_PC,
    STALLS,
    Memory,
    State,
    decode,
    encode,
)

EngineName: TypeAlias = Literal["jit", "plain"]


class Core:
    """An AIE2 core over its tile's memories and port.

    `program` is the 16 KiB of program memory, shared with the tile: call `program_changed` after
    writing it. `memories` are South, West, North and own data memory as the core sees them, 64 KiB each,
    None where there is none. With `checks` each memory is followed in its storage by its shadow
    (emulator/memory.py), in which accesses are marked, and loads of bytes that nobody wrote are reported.
    Faults raise EmulationError with the tile's name and the pc.
    """

    def __init__(
        self,
        name: str,
        port: CorePort,
        program: bytearray,
        memories: Sequence[Memory | None],
        *,
        core_id: int = 0,
        engine: EngineName = "jit",
        checks: CoreChecks | None = None,
    ) -> None:
        if len(program) != PROGRAM_BYTES or len(memories) != 4:
            raise ValueError("a core has 16 KiB of program memory and four data memories")
        self.name = name
        self.core_id = core_id
        self._fast = port.fast if isinstance(port, HasFastPort) else None  # compiled code has its address
        fast_port = 0 if self._fast is None else self._fast.address
        self._state = State(memories, checked=checks is not None, fast_port=fast_port)
        self._program = Program(program)
        self._plain = PlainEngine(self._state, self._program, port, checks)
        self._jit: JitEngine | None = None
        if engine == "jit":
            self._jit = JitEngine(self._state, self._program, self._plain, default_store())
        self._done = False
        self.reset()

    @property
    def pc(self) -> int:
        return self._plain.pc

    @property
    def bundles(self) -> int:
        """Bundles issued since the core was made."""
        return self._plain.bundles

    @property
    def stalls(self) -> int:
        """Cycles lost to bank conflicts of its own accesses since the core was made."""
        return self._state.long(STALLS)

    @property
    def stack(self) -> tuple[int, int, int] | None:
        """Lowest and highest value of the stack pointer, and the pc of the latter; only with checks."""
        low = self._state.word(STACK_LOW)
        if low == NO_STACK:
            return None
        return low, self._state.word(STACK_HIGH), self._state.word(STACK_PC)

    def take_outside(self) -> int | None:
        """The pc of the last load from where the core has no memory since somebody asked; it gave zeros."""
        pc = self._state.word(OUTSIDE_PC)
        if pc == 0:
            return None
        self._state.set_word(OUTSIDE_PC, 0)
        return pc - 1

    def reset(self) -> None:
        """Registers to zero, pc to 0, nothing in flight. Program and data memory stay."""
        self._state.clear_registers()
        self._plain.reset()
        self._done = False
        self.write_register("CORE_ID", self.core_id)

    def program_changed(self) -> None:
        """Program memory was written: forget what was decoded from it."""
        self._program.changed()
        if self._jit is not None:
            self._jit.program_changed()

    def run(self, budget: int) -> CoreStop:
        """Up to `budget` bundles. Raises EmulationError."""
        if self._done:
            return CoreStop("done", self.pc)
        try:
            stop = self._run(budget)
        except (Fault, CannotIssue) as fault:
            raise EmulationError(str(fault), kind=fault.kind, tile=self.name, pc=self.pc) from None
        except UndefinedMode as error:
            message = f"{error}: not defined"
            raise EmulationError(message, kind="unknown-instruction", tile=self.name, pc=self.pc) from None
        self._done = stop.kind == "done"
        return stop

    def _run(self, budget: int) -> CoreStop:
        if self._jit is not None:
            return self._jit.run(budget)
        end = self._plain.bundles + budget
        while self._plain.bundles < end:
            stop = self._plain.step()
            if stop is not None:
                return stop
        return CoreStop("budget", self.pc)

    def read_register(self, name: str) -> int:
        """A register as an unsigned number: "r5", "p0", "x3", "cm1", "LC", "pc", ..."""
        if name == "pc":
            return self.pc
        reg = register(name)
        return int.from_bytes(encode(reg.type, self._state.read(name)), "little")

    def write_register(self, name: str, value: int) -> None:
        """Set a register; bits above its width are cut off."""
        if name == "pc":
            self._plain.pc = value
            return
        reg = register(name)
        data = (value & (1 << 8 * reg.size) - 1).to_bytes(reg.size, "little")
        self._state.write(name, decode(reg.type, data))
