"""Other people's pyxrt programs on the emulated device: `import pyxrt` gives the emulated module.

    with emulated_pyxrt() as host:
        import pyxrt
        ...
    assert not host.findings

`run_script` is what `aiepipe emulate` and `python -m aiepipe.xrt` do with a file: it runs as `__main__`,
unmodified, with its own arguments, and its exit code is kept.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Protocol

from ..errors import UsageError
from ..verdict import SyncFinding
from .emulation import Emulation, ProcessAborted, Settings, emulation
from .events import Event, Labelled, RunStarted
from .sanitizer import Sanitizer
from .surface import pyxrt_module

MODULE = "pyxrt"

_PACKAGE = Path(__file__).parent

EXIT_UNCAUGHT = 1
"""What CPython returns when a program ends with an exception."""

EXIT_ABORTED = 134
"""What a shell shows of a process that called abort(): 128 + SIGABRT."""


@dataclass(slots=True)
class Host:
    """A pyxrt that programs import, the device behind it, and the sanitizer that watches."""

    module: ModuleType
    emulation: Emulation
    sanitizer: Sanitizer
    _finished: bool = field(default=False)

    @property
    def aborted(self) -> str | None:
        """Why real XRT would have ended the process; None while it lives."""
        return self.emulation.aborted

    @property
    def findings(self) -> tuple[SyncFinding, ...]:
        """What was found so far; after the `with` block also what the program left undone."""
        return self.sanitizer.findings

    def finish(self) -> tuple[SyncFinding, ...]:
        """The program is over: nothing more will be read or synced."""
        if not self._finished:
            self._finished = True
            self.sanitizer.finish()
        return self.findings


@contextlib.contextmanager
def emulated_pyxrt(settings: Settings | None = None, *, suppress: Sequence[str] = ()) -> Generator[Host]:
    """Inside the block `import pyxrt` is the emulated module of `settings.release`, on a new device.

    A module of that name that was imported before is back afterwards. `suppress` as for Sanitizer.
    """
    with emulation(settings) as opened:
        module = pyxrt_module(opened.settings.release)
        opened.events.observers.append(_NameByArgument(opened))
        host = Host(module, opened, Sanitizer.attach(opened, suppress=suppress))
        with importable(module):
            try:
                yield host
            finally:
                host.finish()


class Watched(Protocol):
    """What a program runs under: an emulated device, or the real one with the sanitizer."""

    @property
    def aborted(self) -> str | None: ...

    def finish(self) -> object: ...


def run_script(path: str, arguments: Sequence[str], host: Watched) -> int:
    """Runs a Python file as `__main__` and returns the exit code that CPython would have given.

    An exception that the program does not catch is printed as Python prints it, without our frames.
    `-` reads the program from standard input. Raises UsageError when the file cannot be read or is no
    Python; KeyboardInterrupt passes.
    """
    name, source = _read(path)
    try:
        code = compile(source, name, "exec")
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{path} is no Python program: {error}") from error
    program = ModuleType("__main__")
    program.__dict__.update({"__file__": name, "__builtins__": __builtins__})
    with _as_main(program, [path, *arguments], "" if path == "-" else str(Path(path).resolve().parent)):
        try:
            exec(code, program.__dict__)  # noqa: S102 (the user's own program, as asked)
            exit_code = 0
        except SystemExit as request:
            exit_code = _exit_code(request)
        except ProcessAborted as error:
            sys.stderr.write(f"Aborted: {error}\n")
            exit_code = EXIT_ABORTED
        except Exception as error:  # noqa: BLE001 (the program's fault, shown as Python shows it)
            _show(error, name)
            exit_code = EXIT_UNCAUGHT
        if exit_code != EXIT_ABORTED and host.aborted is not None:
            sys.stderr.write(f"Aborted: {host.aborted}\n")
            exit_code = EXIT_ABORTED
        host.finish()  # while what the program holds is still alive
    return exit_code


# --------------------------------------------------------------------------- inside


@dataclass(slots=True)
class _NameByArgument:
    """Buffers of a program that cannot name them are called after the argument that they are first bound
    to. Observes before the sanitizer, so that its first finding has the name."""

    emulation: Emulation
    _named: set[int] = field(default_factory=set[int])

    def __call__(self, event: Event) -> None:
        if not isinstance(event, RunStarted):
            return
        for argument in event.arguments:
            if argument.allocation in self._named:
                continue
            self._named.add(argument.allocation)
            allocation = self.emulation.space.by_id(argument.allocation)
            if allocation is not None and allocation.label == f"buffer {allocation.id}":
                what = "instructions" if argument.instructions else f"argument {argument.index}"
                allocation.label = f"{allocation.label} ({what} of {event.kernel})"
                self.emulation.events.emit(Labelled(allocation.id, allocation.label))


def _read(path: str) -> tuple[str, str]:
    if path == "-":
        return "<stdin>", sys.stdin.read()
    try:
        return path, Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no Python program: {error}") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _exit_code(request: SystemExit) -> int:
    if request.code is None:
        return 0
    if isinstance(request.code, int):
        return request.code & 0xFF
    sys.stderr.write(f"{request.code}\n")
    return EXIT_UNCAUGHT


def _show(error: Exception, script: str) -> None:
    """As Python does, without our frames: not those that started the program, nor pyxrt's, which has none."""
    told = traceback.TracebackException.from_exception(error)
    for part in _chain(told):
        own = [number for number, frame in enumerate(part.stack) if frame.filename == script]
        frames = part.stack[own[0] if own else 0 :]
        theirs = [frame for frame in frames if Path(frame.filename).parent != _PACKAGE]
        part.stack = traceback.StackSummary.from_list(theirs)
    sys.stderr.writelines(told.format())


def _chain(told: traceback.TracebackException) -> Generator[traceback.TracebackException]:
    yield told
    for other in (told.__cause__, told.__context__):
        if other is not None:
            yield from _chain(other)


@contextlib.contextmanager
def importable(module: ModuleType) -> Generator[None]:
    """Makes the module and its submodules importable, and puts back what was there."""
    made = {MODULE: module} | {
        f"{MODULE}.{name}": member for name, member in vars(module).items() if isinstance(member, ModuleType)
    }
    before = {name: sys.modules.get(name) for name in made}
    sys.modules.update(made)
    try:
        yield
    finally:
        for name, known in before.items():
            if known is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = known


@contextlib.contextmanager
def _as_main(program: ModuleType, argv: Sequence[str], folder: str) -> Generator[None]:
    main, arguments, path = sys.modules["__main__"], sys.argv, list(sys.path)
    sys.modules["__main__"] = program
    sys.argv = list(argv)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.modules["__main__"], sys.argv, sys.path[:] = main, arguments, path
