"""What the user says about a backend: the command line, the environment, and configuration files.

The project's file is `aiepipe.toml` in the working folder, the user's is `config.toml` in the folder that
the platform has for it; both have a table `[backend.NAME]` of strings.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from platformdirs import user_config_path

from ..backends import registry
from ..backends.protocol import External
from ..backends.settings import BackendRequest, ConfigurationTable
from ..errors import UsageError

PROJECT_FILE = "aiepipe.toml"
USER_FILE = "config.toml"


def compiler_identity(name: str, options: Sequence[str] = (), flags: Sequence[str] = ()) -> str:
    """What changes when the external compiler of the backend does; empty without one, for aiepipe's own code
    and packages are in every key."""
    try:
        backend = registry.load(name, backend_request(name, tuple(options), tuple(flags)))
        return backend.compiler_identity() if isinstance(backend, External) else ""
    except UsageError:
        return ""  # ready artifacts need none; whoever compiles with it will say that it is missing


def backend_request(backend: str, options: Sequence[str], flags: Sequence[str]) -> BackendRequest:
    """All that is said about `backend`. Raises UsageError for a configuration file that cannot be read."""
    files = (Path(PROJECT_FILE), user_config_path("aiepipe") / USER_FILE)
    tables = (_table(path, backend) for path in files)
    return BackendRequest(
        tuple(options), tuple(flags), dict(os.environ), tuple(table for table in tables if table is not None)
    )


def _table(path: Path, backend: str) -> ConfigurationTable | None:
    try:
        document: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise UsageError(f"cannot read {path}: {fault}", remedy="it must be a TOML file") from fault
    found: object = document.get("backend", {})
    table = cast("dict[str, object]", found).get(backend) if isinstance(found, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise UsageError(f"{path}: [backend.{backend}] is no table")
    values: dict[str, str] = {}
    for name, value in cast("dict[str, object]", table).items():
        if not isinstance(value, (str, int, float)):
            raise UsageError(f"{path}: {name} of [backend.{backend}] is no string or number")
        values[name] = str(value)
    return ConfigurationTable(str(path), values)
