"""The command line as a test calls it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from aiepipe.cli import run_command


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs `aiepipe ARGUMENTS...` in this process; `stdin` is what standard input holds."""

    def run(*arguments: str, stdin: str | None = None) -> Outcome:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        code = run_command(arguments)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err, captured.err
        return Outcome(code, captured.out, captured.err)

    return run
