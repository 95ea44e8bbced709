"""The kernels that iree-amd-aie left, out of its dump folder or its module (.vmfb), and whose they are.

Names changed over the years: `ENTRY.ipu.txt` from Jan 2024, `ENTRY.npu.txt` from Apr 2024,
`ENTRY.npu_inst.txt` from Mar 2025; in one folder, one per entry, or one per executable. An entry is named
after its dispatch: in full at first, later its first 42 characters without `$` and an ordinal.
Source: iree-amd-aie's history; facts/iree-amd-aie.md sections 0 and 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ArtifactError, CompileError
from ..formats import instructions, vmfb
from ..formats.vmfb import ContainerKind
from ..program import Dispatch

STREAM_ENDINGS = (".npu_inst.txt", ".npu.txt", ".ipu.txt")
NAME_CHARACTERS = 42
_LARGEST_FILE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class ForeignKernel:
    """One entry point with the bytes that run it; `files` are what the compiler left for it."""

    entry: str
    kind: ContainerKind
    container: bytes
    streams: tuple[bytes, ...]
    files: Mapping[str, bytes]


def collect(folder: Path, module: Path | None) -> tuple[ForeignKernel, ...]:
    """All kernels: the module's, for these are what IREE would run, with the files of the dump folder
    beside them; the folder's alone where there is no module.

    Raises ArtifactError where neither has any, CompileError where a kernel needs several runs.
    """
    dumped = {kernel.entry: kernel for kernel in _from_folder(folder)}
    if module is None or not module.is_file():
        found = tuple(dumped.values())
    else:
        found = tuple(
            ForeignKernel(
                inner.entry,
                inner.kind,
                inner.container,
                inner.streams,
                {} if inner.entry not in dumped else dumped[inner.entry].files,
            )
            for inner in vmfb.parse(module.read_bytes())
        )
    if not found:
        raise ArtifactError(
            "the compiler left no kernel: no .npu_inst.txt beside an .xclbin or .pdi, and no module",
            artifact="dump folder",
            path=str(folder),
            remedy="see its log; did it compile anything for the NPU?",
        )
    return found


def assign(dispatches: Sequence[Dispatch], kernels: Sequence[ForeignKernel]) -> dict[str, ForeignKernel]:
    """The kernel of each dispatch, by the dispatch's name.

    Raises CompileError where one has none or it is not clear which: then the external compiler does not
    form dispatches as the one that is installed beside aiepipe.
    """
    found: dict[str, ForeignKernel] = {}
    for dispatch in dispatches:
        same = [other for other in dispatches if _stem(other.name) == _stem(dispatch.name)]
        candidates = _candidates(dispatch.name, kernels)
        if len(candidates) != len(same):
            raise CompileError(
                f"the external compiler has {len(candidates)} kernels for dispatch {dispatch.name}, "
                f"the program needs {len(same)}; it has: "
                f"{', '.join(kernel.entry for kernel in kernels) or 'none'}",
                location=dispatch.location,
                op="dispatch",
                remedy="its IREE forms other dispatches than iree-base-compiler here: install the version "
                "nearest to its own, or give both the same flags with --iree-flag",
            )
        found[dispatch.name] = candidates[same.index(dispatch)]
    return found


def _candidates(name: str, kernels: Sequence[ForeignKernel]) -> list[ForeignKernel]:
    """Kernels that may be the dispatch's, by ordinal."""
    exact = [kernel for kernel in kernels if kernel.entry == name]
    if exact:
        return exact
    pattern = re.compile(re.escape(_stem(name)) + r"_(\d+)")
    numbered = [(match, kernel) for kernel in kernels if (match := pattern.fullmatch(kernel.entry))]
    return [kernel for _, kernel in sorted(numbered, key=lambda pair: int(pair[0][1]))]


def _stem(name: str) -> str:
    return name[:NAME_CHARACTERS].replace("$", "")


def _from_folder(folder: Path) -> list[ForeignKernel]:
    """Kernels whose stream and container lie side by side."""
    found: list[ForeignKernel] = []
    for path in sorted(folder.rglob("*.txt")):
        ending = next((ending for ending in STREAM_ENDINGS if path.name.endswith(ending)), None)
        if ending is None:
            continue
        entry = path.name.removesuffix(ending)
        for kind, suffix in ((ContainerKind.XCLBIN, ".xclbin"), (ContainerKind.PDI, ".pdi")):
            container = path.with_name(entry + suffix)
            if container.is_file():
                stream = instructions.to_binary(path.read_bytes())
                files = _files(path.parent)
                found.append(ForeignKernel(entry, kind, container.read_bytes(), (stream,), files))
                break
    return found


def _files(folder: Path) -> dict[str, bytes]:
    """What lies in a kernel's folder, sub-folders and very large files left out."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.is_file() and path.stat().st_size <= _LARGEST_FILE_BYTES
    }
