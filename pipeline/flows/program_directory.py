"""The program directory: a compiled program as files, so that it can be run again without its source.

`program.json` holds the Program and, for each artifact, its files with their hashes. One artifact lies
directly in the folder, several each in a folder of its entry's name (as iree-compile's
--iree-hal-dump-executable-files-to does), but for the files that all have alike: their one xclbin.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import json_codec
from ..errors import ArtifactError, UsageError
from ..program import Artifact, Binding, CallingConvention, CpuKernel, Program
from ..verdict import FileRecord
from .source import read_input_file

SCHEMA = "aiepipe.program/1"
DOCUMENT = "program.json"
LARGEST_FILE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of an artifact, `path` relative to the folder."""

    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """An Artifact whose bytes lie in files. `xclbin` and `instructions` are names in `files`."""

    dispatch: str
    entry: str
    kernel: str
    backend: str
    convention: CallingConvention
    bindings: tuple[Binding, ...]
    xclbin: str
    instructions: str
    files: Mapping[str, StoredFile]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredCpuKernel:
    """A CpuKernel whose module lies in a file; here its bytes are empty."""

    kernel: CpuKernel
    file: StoredFile


@dataclass(frozen=True, slots=True)
class BuiltProgram:
    """A program and the artifacts of its dispatches, by the dispatch's name; `cpu_kernels` are those of the
    dispatches that the host's CPU does."""

    program: Program
    artifacts: Mapping[str, Artifact]
    cpu_kernels: Mapping[str, CpuKernel] = field(default_factory=dict[str, CpuKernel])


def write_program(folder: Path, built: BuiltProgram) -> tuple[FileRecord, ...]:
    """Writes everything below `folder` (made if need be) and says what was written.

    Same program, same bytes. Raises UsageError when the folder cannot be written.
    """
    artifacts = list(built.artifacts.values())
    shared = _shared(artifacts)
    stored: list[StoredArtifact] = []
    records: list[FileRecord] = []
    for artifact in artifacts:
        files = {
            name: _store(folder, name if name in shared else f"{artifact.entry}/{name}", data)
            for name, data in sorted(artifact.files.items())
        }
        records += [FileRecord(str(folder / f.path), f.size_bytes, f.sha256) for f in files.values()]
        stored.append(_stored_artifact(artifact, files))
    document = {
        "schema": SCHEMA,
        "program": json_codec.encode(built.program),
        "artifacts": [json_codec.encode(artifact) for artifact in stored],
        **_cpu_part(folder, built, records),
    }
    data = (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
    whole = _store(folder, DOCUMENT, data)
    return (*dict.fromkeys(records), FileRecord(str(folder / DOCUMENT), whole.size_bytes, whole.sha256))


def _shared(artifacts: Sequence[Artifact]) -> set[str]:
    """Names of the files that all artifacts have, with the same content."""
    return {
        name
        for name, data in (artifacts[0].files.items() if artifacts else ())
        if all(artifact.files.get(name) == data for artifact in artifacts)
    }


def read_program(folder: Path) -> BuiltProgram:
    """Reads what `write_program` wrote.

    Raises UsageError where there is no program.json, ArtifactError where it or a file it names is not
    what was written.
    """
    path = folder / DOCUMENT
    data = read_input_file(str(path), LARGEST_FILE_BYTES)
    try:
        document: Any = json.loads(data)
        schema = document["schema"]
        program_data, artifact_data = document["program"], list(document["artifacts"])
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise ArtifactError(
            f"not a program directory: {fault}", artifact=DOCUMENT, path=str(path), remedy=_AGAIN
        ) from fault
    if schema != SCHEMA:
        raise ArtifactError(
            f"its schema is {schema!r}, this version reads {SCHEMA!r}",
            artifact=DOCUMENT,
            path=str(path),
            remedy=_AGAIN,
        )
    stored = [json_codec.decode(item, StoredArtifact) for item in artifact_data]
    artifacts = {item.dispatch: _load_artifact(folder, item) for item in stored}
    cpu = [json_codec.decode(item, StoredCpuKernel) for item in document.get("cpu_kernels", ())]
    cpu_kernels = {item.kernel.dispatch: _load_cpu_kernel(folder, item) for item in cpu}
    return BuiltProgram(json_codec.decode(program_data, Program), artifacts, cpu_kernels)


_AGAIN = "build it again with `aiepipe build FILE -o DIR`"


def _store(folder: Path, name: str, data: bytes) -> StoredFile:
    write_file(folder / name, data)
    return StoredFile(name, len(data), hashlib.sha256(data).hexdigest())


def write_file(path: Path, data: bytes) -> None:
    """Writes a whole file or nothing: a reader never sees half of it. Raises UsageError."""
    temporary = path.with_name(f".{path.name[:60]}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except OSError as fault:
        with contextlib.suppress(OSError):
            temporary.unlink()
        reason = os.strerror(fault.errno) if fault.errno else str(fault)
        raise UsageError(
            f"cannot write {path}: {reason}", remedy="choose a place that can be written to"
        ) from fault


def _cpu_part(folder: Path, built: BuiltProgram, records: list[FileRecord]) -> dict[str, Any]:
    """The document's part about dispatches of the CPU, if there are any; their modules are written."""
    stored: list[Any] = []
    for kernel in built.cpu_kernels.values():
        file = _store(folder, f"{kernel.dispatch}.cpu.vmfb", kernel.module)
        records.append(FileRecord(str(folder / file.path), file.size_bytes, file.sha256))
        stored.append(json_codec.encode(StoredCpuKernel(replace(kernel, module=b""), file)))
    return {"cpu_kernels": stored} if stored else {}


def _load_cpu_kernel(folder: Path, stored: StoredCpuKernel) -> CpuKernel:
    return replace(stored.kernel, module=_load(folder, stored.file))


def _stored_artifact(artifact: Artifact, files: Mapping[str, StoredFile]) -> StoredArtifact:
    return StoredArtifact(
        artifact.dispatch,
        artifact.entry,
        artifact.kernel,
        artifact.backend,
        artifact.convention,
        artifact.bindings,
        _name_of(artifact, artifact.xclbin),
        _name_of(artifact, artifact.instructions),
        files,
        artifact.notes,
    )


def _name_of(artifact: Artifact, data: bytes) -> str:
    return next(name for name, content in sorted(artifact.files.items()) if content == data)


def _load_artifact(folder: Path, stored: StoredArtifact) -> Artifact:
    files = {name: _load(folder, file) for name, file in stored.files.items()}
    if stored.xclbin not in files or stored.instructions not in files:
        raise ArtifactError(
            f"{stored.entry} names no xclbin or no instruction stream", artifact=DOCUMENT, remedy=_AGAIN
        )
    return Artifact(
        stored.dispatch,
        stored.entry,
        stored.kernel,
        files[stored.xclbin],
        files[stored.instructions],
        stored.bindings,
        stored.convention,
        stored.backend,
        files,
        stored.notes,
    )


def _load(folder: Path, file: StoredFile) -> bytes:
    path = folder / file.path
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ArtifactError(
            f"{file.path} is outside its folder", artifact=DOCUMENT, path=str(folder / DOCUMENT)
        )
    data = read_input_file(str(path), LARGEST_FILE_BYTES)
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise ArtifactError(
            "changed since it was built (its sha256 is not the one in program.json)",
            artifact=file.path,
            path=str(path),
            remedy="build it again, or run the changed file with `aiepipe run --xclbin ... --insts ...`",
        )
    return data
