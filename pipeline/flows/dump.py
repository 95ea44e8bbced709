"""`aiepipe dump`: any artifact explained, by content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ..description import SECTIONS, Dump
from ..errors import UsageError
from ..explain.artifact import EXPLAINERS, explain, kind_name
from .artifact_file import naming, read_artifact


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """`sections` are names of description.SECTIONS, none for all; `kind` overrides what the bytes say."""

    file: str
    sections: tuple[str, ...] = ()
    kind: str | None = None


def dump(options: DumpOptions) -> Dump:
    """Reads and explains the file.

    Raises UsageError: no such file, section or kind; ArtifactError: not an artifact, or a bad one.
    """
    for section in options.sections:
        if section not in SECTIONS:
            raise UsageError(f"no section is called {section!r}", remedy=f"one of: {', '.join(SECTIONS)}")
    if options.kind is not None and options.kind not in EXPLAINERS:
        raise UsageError(f"no artifact is called {options.kind!r}", remedy=f"one of: {', '.join(EXPLAINERS)}")
    file, data = read_artifact(options.file)
    with naming(file):
        kind = options.kind or kind_name(data)
        content = explain(data, kind)
    for section in options.sections:
        if section not in content.parts:
            raise UsageError(
                f"{file} has no {section}, it is a file of kind {content.kind}",
                remedy=f"sections that it has: {', '.join(dict.fromkeys(content.parts))}",
            )
    digest = hashlib.sha256(data).hexdigest()
    return Dump(file, kind, len(data), digest, content, options.sections or None)
