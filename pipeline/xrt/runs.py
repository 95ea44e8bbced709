"""`run` and `runlist` of the emulated pyxrt: arguments, start, wait, and what became of it.

A started run executes when the host first looks at it (wait, wait2, state) or at a later run of the same
context, in the order of the starts. So a program that reads results before it waits gets none, as it may
on hardware. What the array ran into is kept in `failure`, which pyxrt cannot express.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ..errors import ArtifactError, DeviceError, EmulationError
from ..program import CallingConvention
from .buffers import bo
from .contexts import hw_context, kernel
from .events import BoundArgument, RunFinished, RunObserved, RunStarted, call_site
from .memory import Bytes
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


class run:  # noqa: N801 (pyxrt's name)
    """One execution of a kernel."""

    def __init__(self, of: kernel | None = None, /) -> None:
        self._kernel = of
        self._arguments: list[bo | int | None] = [] if of is None else [None] * len(of.image.parameters)
        self._state = ert_cmd_state.ERT_CMD_STATE_NEW
        self._in_flight = False
        self._number = 0
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
            raise incompatible("set_arg", _ARGUMENT_FORMS, index, value)
        if not 0 <= number < len(self._arguments):
            raise IndexError(
                f"vector::_M_range_check: __n (which is {number}) >= this->size() "
                f"(which is {len(self._arguments)})"
            )
        self._arguments[number] = scalar

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

    def add_callback(self, *arguments: object) -> None:
        """Cannot be called from Python in pyxrt either (no pybind11/functional.h)."""
        form = "(self: pyxrt.run, arg0: pyxrt.ert_cmd_state, arg1: std::function<...>, arg2: capsule) -> None"
        raise incompatible("add_callback", (form,), *arguments)

    # ----------------------------------------------------------------- for runlist, contexts and the runner

    @property
    def number(self) -> int:
        """Which run of the emulation this is, from 1; 0 before it starts."""
        return self._number

    def submit(self) -> None:
        """Starts, whoever asks. Raises RuntimeError when it is in flight or an argument is missing."""
        owner = self._kernel_or_error()
        if self._in_flight:
            raise RuntimeError("bad command state, can't launch")
        emulation = owner.context.emulation
        emulation.before_run()
        self._refuse_unset(owner.image)
        self._number = emulation.next_run()
        self._in_flight = True
        self._state = ert_cmd_state.ERT_CMD_STATE_SUBMITTED
        self.failure = self.summary = None
        if emulation.events.active:
            bound = tuple(self._bound_arguments(owner.image))
            emulation.events.emit(RunStarted(self._number, owner.image.name, bound, call_site()))
        owner.context.pending.append(self)

    def finish(self, deadline: float | None) -> None:
        """Executes this run and those that the context started before it."""
        if not self._in_flight:
            return
        pending = self._kernel_or_error().context.pending
        while self._in_flight:
            pending.popleft().execute(deadline)

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
            owner.context.reset()
        except BaseException as error:  # a fault of ours, or Ctrl-C: not the program's doing
            self._state = ert_cmd_state.ERT_CMD_STATE_ABORT
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
            # XRT indexes its connectivity table unchecked: a segmentation fault (mlir-aie #3248)
            raise IndexError(
                f"kernel '{image.name}' declares {len(image.parameters)} arguments, "
                f"there is no argument {index} (pyxrt would crash)"
            )
        bank = image.parameters[index].bank
        if bank is None:
            raise IndexError(
                f"vector::_M_range_check: argument {index} ('{image.parameters[index].name}') of kernel "
                f"'{image.name}' is a scalar: it takes no buffer"
            )
        if bank != buffer.bank:
            raise RuntimeError(
                "No host side buffer in destination buffer: Invalid argument "
                f"(argument {index} needs memory bank {bank}, the buffer is in bank {buffer.bank}; "
                f"make it with kernel.group_id({index}))"
            )
        self._arguments[index] = buffer

    def _refuse_unset(self, image: KernelImage) -> None:
        """XRT reuses command buffers unzeroed: an unset argument would be that of some earlier run. A data
        buffer that the instruction stream does not use may stay unset (mlir-aie declares five always)."""
        for index in range(image.first_data_index):
            if self._arguments[index] is None:
                raise _unset(image, index)
        missing = [
            i for i in range(image.first_data_index, len(self._arguments)) if self._arguments[i] is None
        ]
        if not missing:
            return
        try:
            owner = self._kernel_or_error()
            stream = self._stream(owner, owner.context.emulation.space.peek)
        except (ArtifactError, EmulationError):
            return  # the run itself will say so, with its state
        for index in missing:
            if stream is not None and index - image.first_data_index in stream.arguments:
                raise _unset(image, index)

    def _stream(self, owner: kernel, read: Callable[[int, int], Bytes]) -> InstructionStream | None:
        """The instructions as the device sees them in DDR; None where there are none."""
        image = owner.image
        buffer, count = self._arguments[image.instruction_index], self._arguments[image.count_index]
        if not isinstance(buffer, bo) or not isinstance(count, int) or count == 0:
            return None
        space = owner.context.emulation.space
        available = min(buffer.size(), space.find(buffer.address(), 0, "reads").end - buffer.address())
        if image.convention is CallingConvention.LX6:
            length = min(4 * count, available)
        else:  # ninstr is advisory, words or bytes: the header has the size
            header = read(buffer.address(), min(TXN_HEADER_BYTES, available)).tobytes()
            length = min(max(int.from_bytes(header[12:16], "little"), len(header)), available)
        data = read(buffer.address(), length).tobytes()
        try:
            return owner.decode(data)
        except ArtifactError as error:
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

    def _run_array(self, owner: kernel, deadline: float | None) -> RunSummary:
        image = owner.image
        if image.convention is CallingConvention.TXN and self._arguments[0] != TXN_OPCODE:
            raise EmulationError(
                f"kernel '{image.name}' was started with opcode {self._arguments[0]}; "
                f"the firmware knows {TXN_OPCODE}",
                kind="bad-opcode",
                remedy=f"run.set_arg(0, {TXN_OPCODE})",
            )
        stream = self._stream(owner, owner.context.emulation.space.read)
        if stream is None:
            return RunSummary(0, ("no instruction stream: the kernel did nothing",))
        data = self._arguments[image.first_data_index :]
        addresses = [value.address() if isinstance(value, bo) else value or 0 for value in data]
        return owner.context.array(image).run(stream, addresses, deadline=deadline)

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

    def _observed(self) -> None:
        emulation = self._kernel_or_error().context.emulation
        if emulation.events.active and self._number:
            emulation.events.emit(RunObserved(self._number, self._state.name, call_site()))


class runlist:  # noqa: N801
    """Runs that start together and execute in order. No state, reset or poll: pyxrt has none."""

    def __init__(self, context: hw_context | None = None, /) -> None:
        self._context = context
        self._runs: list[run] = []

    def add(self, item: run, /) -> None:
        """Appends a run, which then belongs to this list."""
        if not isinstance(item, run):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise incompatible("add", ("(self: pyxrt.runlist, arg0: pyxrt.run) -> None",), item)
        item.join(self)
        self._runs.append(item)

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


def _unset(image: KernelImage, index: int) -> RuntimeError:
    name = image.parameters[index].name
    return RuntimeError(
        f"argument {index} ('{name}') of kernel '{image.name}' was never set: XRT would reuse the value "
        "that some earlier run left in the command; set every argument with run.set_arg"
    )
