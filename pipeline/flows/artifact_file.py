"""An artifact as the user names it: its bytes, and its name in errors about them."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from ..errors import ArtifactError, UsageError
from .source import STANDARD_INPUT, read_input_file

LARGEST_ARTIFACT_BYTES = 256 << 20
"""Beyond every artifact for npu1, IREE modules with weights included."""


def read_artifact(name: str) -> tuple[str, bytes]:
    """The name to show and the bytes of a file; standard input for "-". Raises UsageError."""
    if name != STANDARD_INPUT:
        return name, read_input_file(name, LARGEST_ARTIFACT_BYTES)
    data = sys.stdin.buffer.read(LARGEST_ARTIFACT_BYTES + 1)
    if len(data) > LARGEST_ARTIFACT_BYTES:
        raise UsageError(f"standard input has more than the {LARGEST_ARTIFACT_BYTES} bytes that are read")
    return "<stdin>", data


@contextmanager
def naming(file: str) -> Generator[None]:
    """Puts the file's name into ArtifactErrors from within."""
    try:
        yield
    except ArtifactError as error:
        if error.path is None:
            error.path = file
        raise
