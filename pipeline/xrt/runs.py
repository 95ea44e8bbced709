"""`run` and `runlist` of the emulated pyxrt: arguments, start, wait, and what became of it.

A started run executes when the host first looks at it (wait, wait2, state) or at a later run of the same
context, in the order of the starts. So a program that reads results before it waits gets none, as it may
on hardware. What the array ran into is kept in `failure`, which pyxrt cannot express.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable

from ..errors import ArtifactError, DeviceError, EmulationError
from ..program import CallingConvention
from .buffers import bo
from .contexts import kernel
from .emulation import current
from .events import BoundArgument, RunFinished, RunObserved, RunStarted, Site, call_site
from .memory import Bytes
from .overloads import bound, choose
from .releases import FIRST_CLASS_CONTEXTS, at_least
from .silicon import InstructionStream, KernelImage, RunSummary
from .values import as_int, as_unsigned, ert_cmd_state, incompatible, invalid_argument

TXN_OPCODE = 3
"""AIE2_EXEC_BUFFER_KERNEL_OP_TXN of the driver: what argument 0 of a TXN kernel must hold."""

TXN_HEADER_BYTES = 16

_INT_MAX = 2**31 - 1

_STALLED = frozenset({"deadlock", "step-limit", "deadline", "timeout"})
"""Kinds of EmulationError that the driver's watchdog would find: the command times out."""

_ARGUMENT_FORMS = (
    "(self: pyxrt.run, arg0: int, arg1: pyxrt.bo) -> None",
    "(self: pyxrt.run, arg0: int, arg1: int) -> None",
)


class EmulatorFault(Exception):
    """The emulator itself is at fault. No RuntimeError, which programs expect of pyxrt and handle."""


@bound("run")
class run:  # noqa: N801 (pyxrt's name)
    """One execution of a kernel. A handle: the command behind it may outlive it, which XRT takes for a
    reason to end the process."""

    def __init__(self, of: kernel | None = None, /) -> None:
        if of is not None and not isinstance(of, kernel):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise incompatible("__init__", ("pyxrt.run()", "pyxrt.run(arg0: pyxrt.kernel)"), of)
        self._command = Command(of)

    def __del__(self) -> None:
        command = getattr(self, "_command", None)
        if command is not None:
            command.dropped()

    def set_arg(self, index: int, value: object, /) -> None:
        """Sets a declared argument to a buffer or a C int."""
        self._command.set_arg(index, value)

    def start(self) -> None:
        """Hands the command to the device."""
        self._command.start()

    def wait(self, *timeout: object) -> ert_cmd_state:
        """Waits for the end, or `timeout` milliseconds of wall time (0: for ever), and returns the state."""
        return self._command.wait(*timeout)

    def wait2(self, *timeout: object) -> None:
        """Waits, and raises RuntimeError unless the command completed."""
        self._command.wait2(*timeout)

    def state(self) -> ert_cmd_state:
        """Polls the command."""
        return self._command.state()

    def add_callback(self, *arguments: object) -> None:
        """Cannot be called from Python in pyxrt either (no pybind11/functional.h)."""
        form = "(self: pyxrt.run, arg0: pyxrt.ert_cmd_state, arg1: std::function<...>, arg2: capsule) -> None"
        raise incompatible("add_callback", (form,), *arguments)

    def get_ctrl_scratchpad_bo(self) -> bo:
        """A buffer of ELF control code: there is none for other kernels."""
        raise RuntimeError("No module associated with run object")

    # ----------------------------------------------------------------- ours

    @property
    def command(self) -> Command:
        """What was handed to the device."""
        return self._command

    @property
    def number(self) -> int:
        """Which run of the emulation this is, from 1; 0 before it starts."""
        return self._command.number

    @property
    def failure(self) -> DeviceError | ArtifactError | None:
        """What the array met; None while all is right."""
        return self._command.failure

    @property
    def summary(self) -> RunSummary | None:
        """Cycles and warnings of the last execution that completed."""
        return self._command.summary


class Command:
    """A run's command: arguments, state, and its execution in the order of the starts."""

    def __init__(self, of: kernel | None) -> None:
        self._kernel = of
        self._arguments: list[bo | int | None] = [] if of is None else [None] * len(of.image.parameters)
        self._words = _CommandWords(of)
        self._state = ert_cmd_state.ERT_CMD_STATE_NEW
        self._in_flight = False
        self._seen = True
        self._number = 0
        self._started_at: Site | None = None
        self._list: runlist | None = None
        self.failure: DeviceError | ArtifactError | None = None
        self.summary: RunSummary | None = None

    # ----------------------------------------------------------------- pyxrt

    def set_arg(self, index: int, value: object, /) -> None:
        """Sets a declared argument to a buffer or a C int."""
        number = as_int(index)
        if number is None:
            raise incompatible("set_arg", _ARGUMENT_FORMS, index, value)
        image = self._kernel_or_error().image
        if isinstance(value, bo):
            self._set_buffer(image, number, value)
            return
        scalar = as_int(value)
        if scalar is None or not -_INT_MAX - 1 <= scalar <= _INT_MAX:
            self._misused(
                "A005", f"argument {number} was set to {type(value).__name__} {value!r:.40}", number
            )
            raise incompatible("set_arg", _ARGUMENT_FORMS, index, value)
        if not 0 <= number < len(self._arguments):
            raise IndexError(
                f"vector::_M_range_check: __n (which is {number}) >= this->size() "
                f"(which is {len(self._arguments)})"
            )
        self._arguments[number] = scalar
        self._words.set_int(number, scalar)

    def start(self) -> None:
        """Hands the command to the device."""
        if self._list is not None:
            raise invalid_argument("Run object belongs to a runlist and cannot be explicitly started")
        self.submit()

    def wait(self, *timeout: object) -> ert_cmd_state:
        """Waits for the end, or `timeout` milliseconds of wall time (0: for ever), and returns the state."""
        milliseconds = 0 if not timeout else as_unsigned(timeout[0])
        if len(timeout) > 1 or milliseconds is None:
            forms = (
                "(self: pyxrt.run) -> pyxrt.ert_cmd_state",
                "(self: pyxrt.run, arg0: int) -> pyxrt.ert_cmd_state",
            )
            raise incompatible("wait", forms, *timeout)
        self._kernel_or_error()
        self.finish(time.monotonic() + milliseconds / 1000 if milliseconds else None)
        self._observed()
        return self._state

    def wait2(self, *timeout: object) -> None:
        """Waits, and raises RuntimeError unless the command completed."""
        if timeout:
            forms = (
                "(self: pyxrt.run) -> None",
                "(self: pyxrt.run, arg0: std::chrono::milliseconds) -> None",
            )
            raise incompatible("wait2", forms, *timeout)
        if self.wait() != ert_cmd_state.ERT_CMD_STATE_COMPLETED:
            raise RuntimeError(
                f"Command failed to complete successfully ({self._state.name})"
            ) from self.failure

    def state(self) -> ert_cmd_state:
        """Polls the command."""
        self._kernel_or_error()
        self.finish(None)
        self._observed()
        return self._state

    # ----------------------------------------------------------------- for runlist, contexts and the runner

    @property
    def number(self) -> int:
        """Which run of the emulation this is, from 1; 0 before it starts."""
        return self._number

    def dropped(self) -> None:
        """The last handle is gone. From XRT 2.23 on that ends the process while the end was not seen."""
        if self._kernel is None or self._seen or self._list is not None:
            return
        emulation = self._kernel.context.emulation
        name = self._kernel.image.name
        detail = f"a run of '{name}' was started and dropped before its end was seen"
        emulation.misused("L002", name, detail, run=self._number, site=self._started_at)
        if at_least(emulation.settings.release, FIRST_CLASS_CONTEXTS):
            emulation.abort(
                f"L002: a run of '{self._kernel.image.name}' was dropped before its end was seen; "
                "XRT from 2.23 on calls std::abort() then. Keep the run until wait() has returned"
            )

    def submit(self) -> None:
        """Starts, whoever asks. Raises RuntimeError when it is in flight or an argument is missing."""
        owner = self._kernel_or_error()
        if self._in_flight:
            self._misused("L005", f"a run of '{owner.image.name}' was started again")
            raise RuntimeError("bad command state, can't launch")
        emulation = owner.context.emulation
        emulation.before_run()
        self._refuse_unset(owner.image)
        self._number = emulation.next_run()
        self._in_flight, self._seen = True, False
        self._state = ert_cmd_state.ERT_CMD_STATE_SUBMITTED
        self.failure = self.summary = None
        if emulation.events.active:
            bound = tuple(self._bound_arguments(owner.image))
            self._started_at = call_site()
            emulation.events.emit(RunStarted(self._number, owner.image.name, bound, self._started_at))
        owner.context.pending.append(self)

    def finish(self, deadline: float | None) -> None:
        """Executes this run and those that the context started before it."""
        if not self._in_flight:
            return
        context = self._kernel_or_error().context
        with context.emulation.executing:
            while self._in_flight:
                context.pending.popleft().execute(deadline)

    def execute(self, deadline: float | None) -> None:
        """Runs the command on the array, now."""
        owner = self._kernel_or_error()
        emulation = owner.context.emulation
        emulation.observe_all()
        try:
            self.summary = self._run_array(owner, deadline)
            self._state = ert_cmd_state.ERT_CMD_STATE_COMPLETED
        except (EmulationError, ArtifactError) as error:
            # without its traceback, which would hold this run, its context and the array
            self.failure = error.with_traceback(None)
            stalled = isinstance(error, EmulationError) and error.kind in _STALLED
            self._state = (
                ert_cmd_state.ERT_CMD_STATE_TIMEOUT if stalled else ert_cmd_state.ERT_CMD_STATE_ERROR
            )
            emulation.failures.append(
                f"{call_site()}: run {self._number} of '{owner.image.name}' ended {self._state.name}: {error}"
                + (f" ({error.remedy})" if error.remedy else "")
            )
            owner.context.reset()
        except BaseException as error:  # a fault of ours, or Ctrl-C: not the program's doing
            self._state = ert_cmd_state.ERT_CMD_STATE_ABORT
            self._seen = True
            owner.context.reset()
            if isinstance(error, Exception):
                raise EmulatorFault(f"the emulator failed: {type(error).__name__}: {error}") from error
            raise
        finally:
            self._in_flight = False
            emulation.after_run(self._number)
            if emulation.events.active:
                emulation.events.emit(RunFinished(self._number, self._state.name))

    def join(self, owner: runlist) -> None:
        """Puts the run into a runlist, which then is the only one to start it."""
        if self._list is not None:
            raise invalid_argument("Run object already belongs to a runlist")
        self._list = owner

    # ----------------------------------------------------------------- inside

    def _kernel_or_error(self) -> kernel:
        if self._kernel is None:
            raise RuntimeError("No run object")
        return self._kernel

    def _set_buffer(self, image: KernelImage, index: int, buffer: bo) -> None:
        if not 0 <= index < len(image.parameters):
            declared = f"'{image.name}' declares {len(image.parameters)} arguments"
            self._misused("A001", f"{declared}, and a buffer was bound to argument {index}", index)
            # XRT indexes its connectivity table unchecked: a segmentation fault (mlir-aie #3248)
            raise IndexError(
                f"kernel '{image.name}' declares {len(image.parameters)} arguments, "
                f"there is no argument {index} (pyxrt would crash)"
            )
        bank = image.parameters[index].bank
        if bank is None:
            name = image.parameters[index].name
            self._misused(
                "A002", f"a buffer was bound to argument {index} ('{name}') of '{image.name}'", index
            )
            raise IndexError(
                f"vector::_M_range_check: argument {index} ('{image.parameters[index].name}') of kernel "
                f"'{image.name}' is a scalar: it takes no buffer"
            )
        if bank != buffer.bank:
            where = f"{buffer.label} lies in memory bank {buffer.bank}"
            self._misused("A003", f"{where}, argument {index} of '{image.name}' needs bank {bank}", index)
            raise RuntimeError(
                "No host side buffer in destination buffer: Invalid argument "
                f"(argument {index} needs memory bank {bank}, the buffer is in bank {buffer.bank}; "
                f"make it with kernel.group_id({index}))"
            )
        self._arguments[index] = buffer
        self._words.set(index, buffer.address())

    def _refuse_unset(self, image: KernelImage) -> None:
        """XRT reuses command buffers unzeroed: an unset argument would be that of some earlier run. A data
        buffer that the instruction stream does not use may stay unset (mlir-aie declares five always)."""
        owner = self._kernel_or_error()
        emulation = owner.context.emulation
        for index in self._missing(owner):
            name = image.parameters[index].name
            self._misused("A006", f"argument {index} ('{name}') of '{image.name}' was never set", index)
            if not emulation.settings.lenient:
                raise _unset(image, index)
            emulation.note(f"A006: {_unset(image, index)}; it holds {self._words.get(index):#x}")

    def _missing(self, owner: kernel) -> list[int]:
        """Arguments that were not set and that the run would use."""
        image = owner.image
        unset = [index for index, value in enumerate(self._arguments) if value is None]
        first = image.first_data_index
        needed = [index for index in unset if index < first]
        if needed or not unset:
            return needed if owner.control is None else []
        try:
            stream = self._stream(owner, owner.context.emulation.space.peek)
        except (ArtifactError, EmulationError):
            return []  # the run itself will say so, with its state
        return [index for index in unset if stream is not None and index - first in stream.arguments]

    def _stream(self, owner: kernel, read: Callable[[int, int], Bytes]) -> InstructionStream | None:
        """The instructions as the device sees them in DDR; None where there are none."""
        image = owner.image
        if owner.control is not None:
            return owner.decode(owner.control)
        buffer, count = self._arguments[image.instruction_index], self._value(image.count_index)
        address = self._value(image.instruction_index)
        if not address or not count:
            return None
        space = owner.context.emulation.space
        available = space.find(address, 0, "reads").end - address
        if isinstance(buffer, bo):
            available = min(buffer.size(), available)
        if image.convention is CallingConvention.LX6:
            length = min(4 * count, available)
        else:  # ninstr is advisory, words or bytes: the header has the size
            header = read(address, min(TXN_HEADER_BYTES, available)).tobytes()
            length = min(max(int.from_bytes(header[12:16], "little"), len(header)), available)
        data = read(address, length).tobytes()
        try:
            return owner.decode(data)
        except ArtifactError as error:
            if not isinstance(buffer, bo):
                raise
            offset = buffer.device_offset
            if bytes(buffer.memory.host[offset : offset + length]) != data:
                raise ArtifactError(
                    f"{error.message}; the host holds other bytes: the instruction buffer was written "
                    "but not synced to the device before the run",
                    artifact=error.artifact,
                    offset=error.offset,
                    remedy="sync the instruction buffer with XCL_BO_SYNC_BO_TO_DEVICE after writing it",
                ) from error
            raise

    def _value(self, index: int) -> int:
        """What the command holds for an argument: an address, a number, or what an earlier run left."""
        value = self._arguments[index]
        if isinstance(value, bo):
            return value.address()
        if self._kernel_or_error().context.emulation.settings.lenient:
            return self._words.get(index)
        return value or 0

    def _run_array(self, owner: kernel, deadline: float | None) -> RunSummary:
        image = owner.image
        if image.convention is CallingConvention.TXN and self._value(0) != TXN_OPCODE:
            raise EmulationError(
                f"kernel '{image.name}' was started with opcode {self._value(0)}; "
                f"the firmware knows {TXN_OPCODE}",
                kind="bad-opcode",
                remedy=f"run.set_arg(0, {TXN_OPCODE})",
            )
        stream = self._stream(owner, owner.context.emulation.space.read)
        if stream is None:
            self._misused("A004", f"a run of '{image.name}' has no instruction stream")
            return RunSummary(0, ("no instruction stream: the kernel did nothing",))
        addresses = [self._value(i) for i in range(image.first_data_index, len(self._arguments))]
        return owner.context.array(image, deadline).run(stream, addresses, deadline=deadline)

    def _bound_arguments(self, image: KernelImage) -> list[BoundArgument]:
        return [
            BoundArgument(
                index,
                value.allocation.id,
                value.device_offset,
                value.size(),
                instructions=index == image.instruction_index,
            )
            for index, value in enumerate(self._arguments)
            if isinstance(value, bo)
        ]

    def _misused(self, hazard: str, detail: str, argument: int | None = None) -> None:
        owner = self._kernel_or_error()
        owner.context.emulation.misused(hazard, owner.image.name, detail, argument=argument, run=self._number)

    def _observed(self) -> None:
        emulation = self._kernel_or_error().context.emulation
        self._seen = self._seen or not self._in_flight
        if emulation.events.active and self._number:
            emulation.events.emit(RunObserved(self._number, self._state.name, call_site()))


@bound("runlist")
class runlist:  # noqa: N801
    """Runs that start together and execute in order. No state, reset or poll: pyxrt has none."""

    def __init__(self, *arguments: object, **named: object) -> None:
        choose("runlist", current().settings.release, arguments, named)
        self._runs: list[Command] = []

    def add(self, item: run, /) -> None:
        """Appends a run, which then belongs to this list."""
        if not isinstance(item, run):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise incompatible("add", ("(self: pyxrt.runlist, arg0: pyxrt.run) -> None",), item)
        item.command.join(self)
        self._runs.append(item.command)

    def execute(self) -> None:
        """Starts all."""
        if not self._runs:
            raise RuntimeError("runlist is empty")
        for item in self._runs:
            item.submit()

    def wait(self, *timeout: object) -> None:
        """Waits for all; raises RuntimeError with the first state that is not COMPLETED."""
        if timeout:
            forms = (
                "(self: pyxrt.runlist) -> None",
                "(self: pyxrt.runlist, arg0: std::chrono::milliseconds) -> None",
            )
            raise incompatible("wait", forms, *timeout)
        states = [item.wait() for item in self._runs]
        for item, state in zip(self._runs, states, strict=True):
            if state != ert_cmd_state.ERT_CMD_STATE_COMPLETED:
                raise RuntimeError(f"runlist failed execution ({state.name})") from item.failure


class _CommandWords:
    """The values in a command buffer, by argument. It comes from the pool of those that are gone, uncleared
    (XRT's bo_cache); an int overwrites the lower half of a 64-bit value only."""

    def __init__(self, of: kernel | None) -> None:
        self._words: list[int] = []
        if of is None or not of.context.emulation.settings.lenient:
            return
        pool = of.context.emulation.commands
        self._words = pool.pop() if pool else []
        self._words += [0] * (len(of.image.parameters) - len(self._words))
        weakref.finalize(self, pool.append, self._words).atexit = False

    def set(self, index: int, value: int) -> None:
        """A whole value: an address."""
        if self._words:
            self._words[index] = value

    def set_int(self, index: int, value: int) -> None:
        """Four bytes."""
        if self._words:
            self._words[index] = self._words[index] & ~0xFFFF_FFFF | value & 0xFFFF_FFFF

    def get(self, index: int) -> int:
        """The value; 0 where the emulation is not lenient."""
        return self._words[index] if self._words else 0


def _unset(image: KernelImage, index: int) -> RuntimeError:
    name = image.parameters[index].name
    return RuntimeError(
        f"argument {index} ('{name}') of kernel '{image.name}' was never set: XRT would reuse the value "
        "that some earlier run left in the command; set every argument with run.set_arg"
    )
