"""The one tree of errors; every stage raises these and the command line prints them the same way.

Each error says what is wrong (`str(error)`), where (`location`), what to do (`remedy`), carries its
facts as attributes, and knows the exit code of the process that ends with it:

    AiepipeError
    ├── UsageError          2   unknown option, a file that is not there, an input of the wrong shape
    ├── CompileError        3   the MLIR could not be compiled
    │   ├── WorkerCrash     3   IREE killed its process; names the signal
    │   └── UnsupportedOp   3   the backend has no lowering for this op
    ├── ArtifactError       4   an xclbin, PDI, CDO, ELF or instruction stream is bad; has the offset
    ├── DeviceError         4   the device or the run failed
    │   ├── RunFailed       4   a run ended in another state than COMPLETED
    │   └── EmulationError  4   what the emulated array ran into; names the tile, pc or BD
    └── ConditionNotMet     5   a condition that was asked for does not hold (`--fail-on`)

Wrong numbers (exit 1) are a verdict, not an error. Exit 70 is a fault of ours: whatever is not an
`AiepipeError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .program import SourceLocation
    from .verdict import ArrayFinding


class AiepipeError(Exception):
    """Base of all errors that we raise on purpose."""

    exit_code = 70

    def __init__(
        self, message: str, *, location: SourceLocation | str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.remedy = remedy
        self.stage: str | None = None
        """The stage of the command that it came out of ("front end", "backend", "run"), once one has ended
        with it."""

    def where(self) -> str | None:
        """The place in the user's file, device or artifact, as one short text."""
        return None if self.location is None else str(self.location)


class UsageError(AiepipeError):
    """The call was wrong: option, file name, or an input that does not fit the program."""

    exit_code = 2


class CompileError(AiepipeError):
    """The MLIR could not be parsed or compiled. `diagnostics` holds the compiler's own text."""

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        location: SourceLocation | str | None = None,
        remedy: str | None = None,
        op: str | None = None,
        diagnostics: str = "",
    ) -> None:
        super().__init__(message, location=location, remedy=remedy)
        self.op = op
        self.diagnostics = diagnostics


class WorkerCrash(CompileError):
    """The compiler's process died, hung or ran out of memory. `signal` is e.g. "SIGSEGV", or None."""

    def __init__(self, message: str, *, signal: str | None, remedy: str | None = None, diagnostics: str = ""):
        super().__init__(message, remedy=remedy, diagnostics=diagnostics)
        self.signal = signal


class UnsupportedOp(CompileError):
    """The chosen backend has no lowering for `op` with these types."""


class ArtifactError(AiepipeError):
    """A binary artifact is malformed. `artifact` is its kind, `offset` the byte where reading failed."""

    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        artifact: str,
        offset: int | None = None,
        path: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.artifact = artifact
        self.offset = offset
        self.path = path

    def where(self) -> str | None:
        name = self.artifact
        if self.path is not None:
            name = self.path if self.path.endswith(self.artifact) else f"{self.path}: {self.artifact}"
        return name if self.offset is None else f"{name}, offset {self.offset:#x}"


class DeviceError(AiepipeError):
    """The device, or a run on it, failed. `code` is the failure catalogue's ("R002"), where one fits."""

    exit_code = 4
    code: str | None = None
    findings: Sequence[ArrayFinding] = ()
    """What the emulated array had told of by then."""


class RunFailed(DeviceError):
    """A run did not complete, so nothing is compared. `state` is the command's ("ERT_CMD_STATE_TIMEOUT"),
    `dispatch` what ran, `reason` what the emulated array met (an EmulationError or ArtifactError), None on
    hardware, which does not say."""

    def __init__(
        self,
        message: str,
        *,
        state: str,
        dispatch: str,
        reason: AiepipeError | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.state = state
        self.dispatch = dispatch
        self.reason = reason

    def where(self) -> str | None:
        return None if self.reason is None else self.reason.where()


class EmulationError(DeviceError):
    """The emulated array met something that no legal program does.

    `kind` is a short stable name ("deadlock", "unknown-instruction", "out-of-range", "bad-bd",
    "bad-port", "step-limit"), `tile` is "core (0,2)" or the like, `pc` a byte address in program memory.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        tile: str | None = None,
        pc: int | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.kind = kind
        self.tile = tile
        self.pc = pc

    def where(self) -> str | None:
        if self.tile is None:
            return None
        return self.tile if self.pc is None else f"{self.tile}, pc {self.pc:#06x}"


class ConditionNotMet(AiepipeError):
    """A condition that the user asked for (`--fail-on`) does not hold."""

    exit_code = 5
