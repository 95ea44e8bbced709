"""Where an external compiler works: a folder that goes when all went well, and else stays to be looked at."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ..errors import AiepipeError, UsageError
from .settings import BackendSettings

# bootgen and xclbinutil refuse spaces and $ in paths (nod-ai/iree-amd-aie#513)
_SAFE_PATH = re.compile(r"[\w./+=@-]+")


@contextmanager
def work_folder(settings: BackendSettings) -> Generator[Path]:
    """Where the compiler works: the work-dir, else a folder that stays only where something failed."""
    named = settings.get("work-dir")
    if named is not None:
        folder = Path(named).expanduser().resolve()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise UsageError(f"cannot make work-dir {folder}: {fault.strerror}") from fault
        _refuse_odd(folder)
        yield folder
        return
    folder = Path(tempfile.mkdtemp(prefix="aiepipe-external-"))
    try:
        yield folder
    except UsageError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    except AiepipeError:
        raise  # the log and what the compiler left tell why
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def _refuse_odd(folder: Path) -> None:
    if not _SAFE_PATH.fullmatch(str(folder)):
        raise UsageError(
            f"work-dir {folder} has characters that bootgen and xclbinutil refuse",
            remedy="choose a path of letters, digits and _ . / + = @ -",
        )
