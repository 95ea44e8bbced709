"""Which tools took part: their versions, for the JSON report."""

from __future__ import annotations

import platform
from importlib import metadata

from .. import __version__

_DISTRIBUTIONS = ("iree-base-compiler", "iree-base-runtime", "llvmlite", "ml_dtypes", "numpy")


def tool_versions() -> dict[str, str]:
    """aiepipe, Python and the libraries that compute, by distribution name; absent ones are left out."""
    versions = {"aiepipe": __version__, "python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
