"""Where a setting comes from, and which source wins: the command line, the environment, the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.backends.settings import BackendRequest, ConfigurationTable, KnownSetting, resolve
from aiepipe.errors import UsageError

KNOWN = (
    KnownSetting("dir", "a folder", ("FIRST_DIR", "SECOND_DIR")),
    KnownSetting("hal", "a choice", (), ("xrt", "amdxdna")),
    KnownSetting("timeout", "seconds"),
)
PROJECT = ConfigurationTable("aiepipe.toml", {"dir": "project"})
USER = ConfigurationTable("config.toml", {"dir": "user", "hal": "xrt"})
ENVIRONMENT = {"FIRST_DIR": "first", "SECOND_DIR": "second"}


@pytest.mark.parametrize(
    ("request_", "value", "origin"),
    [
        (BackendRequest(("dir=line",), (), ENVIRONMENT, (PROJECT, USER)), "line", "--backend-option"),
        (BackendRequest((), (), ENVIRONMENT, (PROJECT, USER)), "first", "FIRST_DIR"),
        (BackendRequest((), (), {"FIRST_DIR": "", "SECOND_DIR": "s"}, (PROJECT,)), "s", "SECOND_DIR"),
        (BackendRequest((), (), {}, (PROJECT, USER)), "project", "aiepipe.toml"),
        (BackendRequest((), (), {}, (USER,)), "user", "config.toml"),
    ],
)
def test_the_nearer_source_wins(request_: BackendRequest, value: str, origin: str) -> None:
    found = resolve("b", KNOWN, request_).values["dir"]
    assert (found.value, found.origin) == (value, origin)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (BackendRequest(("folder=x",)), "no option 'folder'"),
        (BackendRequest(("dir",)), "not NAME=VALUE"),
        (BackendRequest(("hal=cuda",)), "'cuda'"),
        (
            BackendRequest((), (), {}, (ConfigurationTable("f.toml", {"x": "1"}),)),
            r"no option 'x' \(f.toml\)",
        ),
    ],
)
def test_what_is_not_known_is_a_usage_error(request_: BackendRequest, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve("b", KNOWN, request_)


def test_paths_and_times_are_checked_when_they_are_used(tmp_path: Path) -> None:
    settings = resolve("b", KNOWN, BackendRequest((f"dir={tmp_path}", "timeout=1.5")))
    assert settings.path("dir") == tmp_path.resolve()
    assert settings.seconds("timeout", 60.0) == 1.5
    assert resolve("b", KNOWN, BackendRequest()).seconds("timeout", 60.0) == 60.0
    for bad in ("0", "-1", "nan", "inf", "x"):
        with pytest.raises(UsageError):
            resolve("b", KNOWN, BackendRequest((f"timeout={bad}",))).seconds("timeout", 60.0)
