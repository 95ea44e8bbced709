"""What the doctor may ask of the machine: files under a root, programs, limits, modules. Tests replace it."""

from __future__ import annotations

import importlib
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_TOOL_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a program said when it was executed. `code` is None where it could not be, with `text` saying
    why."""

    code: int | None
    text: str

    @property
    def first_line(self) -> str:
        """The first line that says something."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")


def execute(command: Sequence[str]) -> ToolAnswer:
    """Runs a program, both outputs together, for at most 20 s."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TOOL_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        return ToolAnswer(None, "not found")
    except subprocess.TimeoutExpired:
        return ToolAnswer(None, f"no answer within {_TOOL_SECONDS:g} s")
    except OSError as error:
        return ToolAnswer(None, str(error.strerror or error))
    return ToolAnswer(done.returncode, done.stdout.decode("utf-8", "replace"))


def _locked_memory_limit() -> int | None:
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return None if soft == resource.RLIM_INFINITY else soft


@dataclass(frozen=True, slots=True)
class System:
    """The machine. `locked_memory_limit` gives bytes, None for no limit."""

    root: Path = Path("/")
    execute: Callable[[Sequence[str]], ToolAnswer] = execute
    import_module: Callable[[str], object] = importlib.import_module
    locked_memory_limit: Callable[[], int | None] = field(default=_locked_memory_limit)
    python: str = sys.executable

    def read(self, path: str) -> str | None:
        """The text of a small file, stripped; None where it cannot be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def glob(self, pattern: str) -> list[Path]:
        """Paths under the root, sorted."""
        return sorted(self.root.glob(pattern))
