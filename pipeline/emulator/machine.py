"""The emulated NPU: load a configuration, run an instruction stream, see what happened.

Takes only what the bytes of an artifact say (a CDO, a stream); DDR is the caller's (`DeviceMemory`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import EmulationError
from ..formats import cdo, pdi
from ..formats.cdo import Cdo
from ..formats.lx6 import Lx6Stream
from ..formats.txn import Transaction
from .array import Array, Limits
from .controller import Controller
from .core.core import Core, EngineName
from .cycles import TileCycles, tile_cycles
from .deadlock import deadlock, stopped
from .engine import CoreFactory
from .findings import Finding
from .leftovers import leftovers, start_of_run
from .memory import DeviceMemory
from .trace import Trace
from .transfers import Transfer

__all__ = [
    "DEFAULT_STEP_LIMIT",
    "DeviceMemory",
    "EngineName",
    "Finding",
    "Machine",
    "RunReport",
    "TileCycles",
    "Trace",
    "Transfer",
]

DEFAULT_STEP_LIMIT = 20_000_000_000

MAXIMUM_PDI_BYTES = 1 << 26

LOAD_STEPS = 50_000_000
"""Steps that the array may take while a CDO waits for it; the commands themselves are bounded by its size."""

_COMMANDS_PER_CHECK = 256

SETTLE_STEPS = 200_000
"""Steps that the array may take after it was configured, and after a stream: hardware does not stop then."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did.

    `bundles`: executed by each core that ran; `cycles` and `tile_cycles`: estimates, see cycles.py;
    `transfers`: ranges of DDR read and written, joined; `findings`: what hardware would not tell; `settled`:
    everything stood still at the end.
    """

    bundles: Mapping[str, int]
    transfers: tuple[Transfer, ...]
    cycles: int
    tile_cycles: Mapping[str, TileCycles]
    warnings: tuple[str, ...]
    findings: tuple[Finding, ...]
    settled: bool


class Machine:
    """A partition of `columns` columns with DDR `memory`. `engine` ("jit" or "plain") executes the cores.

    `check` watches cores and their memories too, at some cost (checks.py); `trace` records what happens.
    """

    def __init__(
        self,
        columns: int,
        memory: DeviceMemory,
        *,
        engine: EngineName = "jit",
        cores: CoreFactory | None = None,
        check: bool = False,
        trace: Trace | None = None,
    ) -> None:
        self._memory = memory
        self._fault: EmulationError | None = None
        self._trace = trace
        self._runs = 0
        self._loaded: Cdo | None = None
        """The image whose configuration the array has."""
        factory = functools.partial(Core, engine=engine) if cores is None else cores
        self.array = Array(columns, memory, factory, check=check, trace=trace)

    def load(self, configuration: Cdo, *, deadline: float | None = None) -> None:
        """Executes the commands of a CDO, then lets the array go on to where it has to wait: on hardware
        enabled cores have done so long before the first instruction stream comes. Raises EmulationError
        for what the CDO writes and where it takes too long (kind "step-limit", or "deadline" at `deadline`,
        time.monotonic()); what goes wrong after that is raised by the next run.
        """
        self._fault = None
        self.array.steps = 0
        if self._trace is not None:
            self._trace.begin(self.array.time())
        self._configure(configuration, Limits(LOAD_STEPS, deadline))
        self._loaded = configuration
        self._settle(deadline, running=False)

    def _configure(self, configuration: Cdo, limits: Limits) -> None:
        for number, command in enumerate(configuration.commands):
            if number % _COMMANDS_PER_CHECK == 0:
                limits.check(self.array.steps)
            match command:
                case cdo.Write(address=address, value=value):
                    channel = self.array.start_queue(address)
                    if channel is not None and channel.full:
                        self.array.settle(limits)
                    self.array.write(address, value)
                case cdo.MaskWrite(address=address, mask=mask, value=value):
                    self.array.mask_write(address, value, mask)
                case cdo.DmaWrite(address=address, data=data):
                    self.array.write_block(address, data)
                case cdo.MaskPoll(address=address, mask=mask, value=value):
                    self._poll(address, mask, value, limits)
                case cdo.Nop() | cdo.End():
                    pass

    def _poll(self, address: int, mask: int, value: int, limits: Limits) -> None:
        """Lets the array go on until the register has this value."""
        while self.array.read(address) & mask != value:
            if not self.array.round(limits):
                raise EmulationError(
                    f"the configuration waits in vain for {address:#x} & {mask:#x} == {value:#x}",
                    kind="deadlock",
                )

    def run(
        self,
        stream: Transaction | Lx6Stream,
        arguments: Sequence[int],
        *,
        images: Mapping[int, Cdo] | None = None,
        step_limit: int | None = None,
        deadline: float | None = None,
    ) -> RunReport:
        """Executes a stream to its end. `arguments`: device addresses of the data buffers, kernel order.

        `images`: configurations by PDI id, for LOAD_PDI; one that is not there is read from DDR.
        `step_limit` bounds bundles and DMA steps, `deadline` (time.monotonic()) the wall clock. Raises
        EmulationError; for a deadlock its message names who waits for what.
        """
        if self._fault is not None:
            raise self._fault
        array = self.array
        limits = Limits(DEFAULT_STEP_LIMIT if step_limit is None else step_limit, deadline)
        array.steps = 0
        array.tokens.clear()
        array.transfers.clear()
        array.checks.begin_run()
        bundles = {core.name: core.bundles for core in array.cores}
        before = tile_cycles(array)
        began = start_of_run(array)
        start = array.time()
        self._runs += 1
        if self._trace is not None:
            self._trace.begin(start)
        controller = Controller(
            array, stream, arguments, functools.partial(self._load_pdi, images or {}, limits)
        )
        try:
            self._execute(controller, limits)
        finally:
            cycles = array.time() - start
            self._show_run(start, len(stream.ops))
        written = array.transfers.written()
        settled = self._settle(deadline, running=True)
        found = array.checks.log.take()
        if settled:
            found += tuple(leftovers(array, began))
        self._show_cores()
        if self._fault is not None:
            array.warn(f"after the end of the instruction stream: {self._fault.message}")
        if array.transfers.written() != written:
            array.warn(
                "the device wrote DDR after the end of the instruction stream, which does not wait for it"
            )
        return RunReport(
            bundles={
                core.name: core.bundles - bundles[core.name]
                for core in array.cores
                if core.bundles > bundles[core.name]
            },
            transfers=array.transfers.transfers(),
            cycles=cycles,
            tile_cycles={
                name: spent
                for name, total in tile_cycles(array).items()
                if (spent := total.since(before[name]))
            },
            warnings=array.take_warnings(),
            findings=found,
            settled=settled,
        )

    def take_findings(self) -> tuple[Finding, ...]:
        """What was found since the last report: of a run that ended in an error."""
        return self.array.checks.log.take()

    def _execute(self, controller: Controller, limits: Limits) -> None:
        array = self.array
        try:
            while True:
                moved = controller.advance()
                if controller.done:
                    return
                moved |= array.round(limits, last=not moved)
                if not moved and not controller.lose_task():
                    raise deadlock(array, controller.waiting, controller.tokens)
                limits.check(array.steps)
        except EmulationError as error:
            if error.kind in ("step-limit", "deadline"):
                raise stopped(error, array, controller.waiting, controller.tokens) from error
            raise

    def _show_run(self, start: int, operations: int) -> None:
        """The run, and what cores did in it, on the timeline."""
        self._show_cores()
        if self._trace is not None:
            self._trace.run(f"run {self._runs}", start, self.array.time(), operations=operations)

    def _show_cores(self) -> None:
        for core in self.array.cores:
            core.end_span()

    def _load_pdi(
        self, images: Mapping[int, Cdo], limits: Limits, pdi_id: int, size: int, address: int
    ) -> None:
        """LOAD_PDI as mlir-aie describes the firmware (AIEExpandLoadPdi): another image than the one that is
        loaded resets the array before it is executed, the same one does nothing.
        """
        image = images.get(pdi_id) or self._image_in_ddr(pdi_id, size, address)
        if image == self._loaded:
            return
        self.array.reset()
        self._configure(image, limits)
        self._loaded = image

    def _image_in_ddr(self, pdi_id: int, size: int, address: int) -> Cdo:
        if not 0 < size <= MAXIMUM_PDI_BYTES:
            raise EmulationError(
                f"there is no PDI {pdi_id}, and none of {size} bytes in DDR", kind="bad-argument"
            )
        return pdi.parse(self._memory.read(address, size).tobytes()).cdo

    def _settle(self, deadline: float | None, *, running: bool) -> bool:
        """Lets the array go on for a bounded time; True when it stands still.

        A fault of a core is kept for the next run, as this one's stream has its results; one of a DMA is
        the fault of the stream that started it (`running`).
        """
        array = self.array
        array.steps = 0
        limits = Limits(SETTLE_STEPS, deadline)
        try:
            while array.round(limits):
                pass
        except EmulationError as error:
            if error.kind in ("step-limit", "deadline"):
                return False
            if running and error.pc is None:
                raise
            self._fault = error
            return False
        return True
