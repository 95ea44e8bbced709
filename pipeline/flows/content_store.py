"""A folder of what was computed once, named by the hash of all that it depends on.

Entries are written under a temporary name and moved into place, so that several processes and an
interrupted one never leave half of one. What cannot be read is computed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, cast

from platformdirs import user_cache_path

from ..errors import AiepipeError
from .program_directory import BuiltProgram, read_program, write_program
from .versions import tool_versions


class ContentStore:
    """Documents (JSON) and builds (program directories) below `folder`; None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def find(self, key: str) -> dict[str, Any] | None:
        """The document of that key, if it is there and whole."""
        if self.folder is None:
            return None
        try:
            document: object = json.loads(self._place("results", key).with_suffix(".json").read_bytes())
        except (OSError, ValueError):
            return None
        return cast("dict[str, Any]", document) if isinstance(document, dict) else None

    def keep(self, key: str, document: Mapping[str, Any]) -> None:
        """Keeps a document. A folder that cannot be written is no fault: the next run computes again."""
        if self.folder is None:
            return
        path = self._place("results", key).with_suffix(".json")
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
            os.replace(temporary, path)

    def find_build(self, key: str) -> BuiltProgram | None:
        """The program and artifacts of that key."""
        if self.folder is None:
            return None
        place = self._place("builds", key)
        if not place.is_dir():
            return None
        try:
            return read_program(place)
        except AiepipeError:
            return None

    def keep_build(self, key: str, built: BuiltProgram) -> None:
        """Keeps a build; where another process has kept it already, that one stays."""
        if self.folder is None:
            return
        place = self._place("builds", key)
        with contextlib.suppress(OSError, AiepipeError):
            place.parent.mkdir(parents=True, exist_ok=True)
            temporary = Path(tempfile.mkdtemp(prefix=".build-", dir=place.parent))
            try:
                write_program(temporary, built)
                os.replace(temporary, place)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)

    def _place(self, kind: str, key: str) -> Path:
        assert self.folder is not None
        return self.folder / kind / key[:2] / key


def default_store() -> ContentStore:
    """As the environment says: AIEPIPE_NO_CACHE=1, AIEPIPE_CACHE_DIR, else the platform's cache folder."""
    if os.environ.get("AIEPIPE_NO_CACHE") == "1":
        return ContentStore(None)
    named = os.environ.get("AIEPIPE_CACHE_DIR")
    folder = Path(named) if named else user_cache_path("aiepipe", appauthor=False)
    return ContentStore(folder / "sweeps")


def content_key(*parts: object) -> str:
    """The hash of the parts (plain data) and of the code and tools that work on them."""
    data = json.dumps([code_fingerprint(), *parts], sort_keys=True, default=str)
    return hashlib.sha256(data.encode()).hexdigest()


@cache
def code_fingerprint() -> str:
    """A hash of aiepipe's own source and of the versions of what computes."""
    digest = hashlib.sha256(json.dumps(tool_versions(), sort_keys=True).encode())
    for package in ("aiepipe", "aiepipe.kernels"):
        _add(digest.update, resources.files(package))
    return digest.hexdigest()


def _add(update: Any, folder: Traversable) -> None:
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.is_dir() and not entry.name.startswith(("__pycache__", ".")):
            _add(update, entry)
        elif entry.name.endswith((".py", ".json")):
            update(entry.name.encode() + entry.read_bytes())
