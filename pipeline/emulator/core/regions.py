"""Compiled regions, shared by the cores of a process and kept on disk between processes.

A region is a function of program memory, of where it begins, of what was learned about it, of this
package's source and of the processor; its file is named by the hash of all that. AIEPIPE_CACHE_DIR says
where the cache is, AIEPIPE_NO_CACHE=1 turns it off.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypedDict, cast

from platformdirs import user_cache_path

from . import native
from .flight import BranchKey, Key, Shape, StageKey, WriteKey
from .places import Place
from .program import Program
from .translation import ENTRY_FUNCTION, translate

_FORMAT = 1
_KEYS: Mapping[str, Callable[..., Key]] = {"write": WriteKey, "stage": StageKey, "branch": BranchKey}
_LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True)
class CompiledRegion:
    function: native.Function
    entries: Mapping[Place, int]
    shapes: tuple[Shape, ...]
    loop_ends: frozenset[int]


@dataclass(frozen=True, slots=True)
class Request:
    """What a region is made from, beside the program.

    `known` are places that other regions have and that this one leaves to them; `history` stands for how
    those came about, so that the request has a name without naming all of them.
    """

    start: Place
    loop_ends: frozenset[int]
    learned: Mapping[str, frozenset[int]]
    checked: bool = False
    known: Collection[Place] = ()
    history: str = ""

    def name(self, program: Program) -> str:
        """The hash of all that the compiled code depends on."""
        learned = sorted((choice, sorted(keys)) for choice, keys in self.learned.items())
        parts = (self.start, sorted(self.loop_ends), learned, self.checked, self.history)
        about = repr((_FORMAT, _version(), native.host(), parts))
        return hashlib.sha256(about.encode() + bytes(program.code)).hexdigest()

    def compile(self, program: Program) -> _Stored:
        region = translate(
            program,
            [self.start],
            loop_ends=self.loop_ends,
            learned=self.learned,
            known=self.known,
            checked=self.checked,
        )
        code = native.compile_object(region.text)
        return _Stored(code, region.entries, region.shapes, region.loop_ends)


class RegionStore:
    """Gives compiled regions; compiles what neither this process nor the cache has."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._regions: dict[str, CompiledRegion] = {}

    def region(self, program: Program, request: Request) -> CompiledRegion:
        """The region of what can be reached from a start."""
        name = request.name(program)
        found = self._regions.get(name)
        if found is None:
            stored = self._read(name)
            if stored is None:
                stored = request.compile(program)
                self._write(name, stored)
            found = self._regions[name] = stored.load()
        return found

    def _read(self, name: str) -> _Stored | None:
        if self._folder is None:
            return None
        try:
            return _Stored.from_bytes((self._folder / name).read_bytes())
        except (OSError, ValueError, KeyError, TypeError):
            return None  # not there, or cut short by a full disk: compiled again

    def _write(self, name: str, stored: _Stored) -> None:
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
                file.write(stored.to_bytes())
            os.replace(file.name, self._folder / name)
        except OSError:
            self._folder = None  # no place to write: work without a cache


class _About(TypedDict):
    keys: list[dict[str, str | int | bool | None]]
    shapes: list[list[int]]
    exits: int
    entries: list[tuple[int, int, int]]
    loop_ends: list[int]


@dataclass(frozen=True, slots=True)
class _Stored:
    """An object file and what the dispatcher has to know of it, as kept in the cache."""

    code: bytes
    entries: Mapping[Place, int]
    shapes: tuple[Shape, ...]
    loop_ends: frozenset[int]

    def load(self) -> CompiledRegion:
        function = native.load_object(self.code, ENTRY_FUNCTION)
        return CompiledRegion(function, self.entries, self.shapes, self.loop_ends)

    def to_bytes(self) -> bytes:
        """The hash of the rest, the length of the JSON part, that part, the object file."""
        shapes = list(dict.fromkeys([*self.shapes, *(p.shape for p in self.entries)]))
        numbers = {shape: number for number, shape in enumerate(shapes)}
        # shapes are many, and made of few keys
        keys = {key: number for number, key in enumerate(dict.fromkeys(k for s in shapes for k in s))}
        about: _About = {
            "keys": [asdict(key) for key in keys],
            "shapes": [[keys[key] for key in shape] for shape in shapes],
            "exits": len(self.shapes),
            "entries": [(p.pc, numbers[p.shape], number) for p, number in self.entries.items()],
            "loop_ends": sorted(self.loop_ends),
        }
        text = json.dumps(about, separators=(",", ":")).encode()
        body = len(text).to_bytes(_LENGTH_BYTES, "little") + text + self.code
        return hashlib.sha256(body).digest() + body

    @staticmethod
    def from_bytes(data: bytes) -> _Stored:
        """The inverse. Raises ValueError where the bytes are not whole."""
        digest, body = data[:32], data[32:]
        if hashlib.sha256(body).digest() != digest:
            raise ValueError("a cached region is damaged")
        length = int.from_bytes(body[:_LENGTH_BYTES], "little")
        about = cast(_About, json.loads(body[_LENGTH_BYTES : _LENGTH_BYTES + length]))
        keys = [_KEYS[str(key["tag"])](**key) for key in about["keys"]]
        shapes = [tuple(keys[number] for number in shape) for shape in about["shapes"]]
        entries = {Place(pc, shapes[shape]): number for pc, shape, number in about["entries"]}
        code = body[_LENGTH_BYTES + length :]
        return _Stored(code, entries, tuple(shapes[: about["exits"]]), frozenset(about["loop_ends"]))


@cache
def _version() -> str:
    """A hash of all source that the meaning of compiled code depends on."""
    digest = hashlib.sha256()
    for package in ("aiepipe.isa", "aiepipe.isa.semantics", "aiepipe.emulator.core"):
        for file in sorted(files(package).iterdir(), key=lambda f: f.name):
            if file.name.endswith((".py", ".json")):
                digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


@cache
def default_store() -> RegionStore:
    """The process's store, as the environment says."""
    if os.environ.get("AIEPIPE_NO_CACHE") == "1":
        return RegionStore(None)
    named = os.environ.get("AIEPIPE_CACHE_DIR")
    folder = Path(named) if named else user_cache_path("aiepipe", appauthor=False)
    return RegionStore(folder / "cores")
