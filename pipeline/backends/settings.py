"""What an external compiler must be told, and where each value came from.

A value is looked for in this order: the command line, the environment, the configuration files (the
project's before the user's). Nothing here reads any of them; `flows/backend_options.py` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import UsageError


@dataclass(frozen=True, slots=True)
class KnownSetting:
    """A setting that a backend takes. `variables` are environment variables that give it, the first wins;
    `choices` are all values it may have, where it is one of a few."""

    name: str
    help: str
    variables: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and who gave it: "--backend-option", "IREE_INSTALL_DIR", "aiepipe.toml"."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class ConfigurationTable:
    """The part of a configuration file that is about one backend."""

    file: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BackendRequest:
    """All that may be said about a backend: `options` are NAME=VALUE texts of the command line, `flags`
    go to the external compiler as they are."""

    options: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    tables: tuple[ConfigurationTable, ...] = ()


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """The settings of one backend, by name, and the flags for its compiler."""

    values: Mapping[str, Setting] = field(default_factory=dict[str, Setting])
    flags: tuple[str, ...] = ()

    def get(self, name: str) -> str | None:
        """The value of a setting, None where nobody gave it."""
        found = self.values.get(name)
        return None if found is None else found.value

    def path(self, name: str) -> Path | None:
        """A folder or file that a setting names. Raises UsageError where it is not there."""
        found = self.values.get(name)
        if found is None:
            return None
        path = Path(found.value).expanduser()
        if not path.exists():
            raise UsageError(f"{name} ({found.origin}) is {found.value}, which is not there")
        return path.resolve()

    def seconds(self, name: str, default: float) -> float:
        """A time limit. Raises UsageError where it is no positive number."""
        found = self.values.get(name)
        if found is None:
            return default
        try:
            value = float(found.value)
        except ValueError:
            value = 0.0
        if not 0 < value < float("inf"):
            raise UsageError(f"{name} ({found.origin}) is {found.value!r}, not a number of seconds")
        return value


def resolve(backend: str, known: Sequence[KnownSetting], request: BackendRequest) -> BackendSettings:
    """The settings that the request gives. Raises UsageError for a setting that the backend does not know."""
    values: dict[str, Setting] = {}
    by_name = {setting.name: setting for setting in known}
    for table in reversed(request.tables):
        for name, value in table.values.items():
            values[_known(backend, name, by_name, table.file)] = Setting(name, value, table.file)
    for setting in known:
        for variable in reversed(setting.variables):
            if request.environment.get(variable):
                values[setting.name] = Setting(setting.name, request.environment[variable], variable)
    for text in request.options:
        name, separator, value = text.partition("=")
        if not separator:
            raise UsageError(f"--backend-option {text!r} is not NAME=VALUE", remedy=_names(backend, by_name))
        name = _known(backend, name.strip(), by_name, "--backend-option")
        values[name] = Setting(name, value.strip(), "--backend-option")
    for setting in values.values():
        choices = by_name[setting.name].choices
        if choices and setting.value not in choices:
            raise UsageError(
                f"{setting.name} ({setting.origin}) is {setting.value!r}",
                remedy=f"one of: {', '.join(choices)}",
            )
    return BackendSettings(values, request.flags)


def _known(backend: str, name: str, known: Mapping[str, KnownSetting], origin: str) -> str:
    if name not in known:
        raise UsageError(
            f"backend {backend} has no option {name!r} ({origin})", remedy=_names(backend, known)
        )
    return name


def _names(backend: str, known: Mapping[str, KnownSetting]) -> str:
    return f"the options of {backend} are: {', '.join(known)}"
