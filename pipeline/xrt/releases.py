"""Which names each release of XRT's pyxrt has, as a table.

Programs feature-detect with `hasattr` or by trying a constructor; a profile lets the emulated module
answer as that release does. Source: pyxrt.cpp at XRT's release tags.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UsageError

RELEASES = (
    "2.16",
    "2.17",
    "2.18",
    "2.19",
    "2.20",
    "2.21",
    "2.21.75",
    "2.21-branch",
    "2.23",
    "2.25",
    "2.26",
)
"""In order. 2.21.75 is the build of the PPA, Ubuntu and Arch; 2.21-branch the release branch after
2026-05-19."""

LATEST = RELEASES[-1]

FIRST_CLASS_CONTEXTS = "2.23"
"""hw_context with modes and settings, named arguments, deprecation warnings, abort() in run's destructor."""

LENIENT_GROUP_ID = "2.25"
"""From here on `group_id` past the table gives bank 0xFFFF; before it, IndexError."""


def check_release(name: str) -> str:
    """The release of that name; raises UsageError for one that the table does not have."""
    if name not in RELEASES:
        raise UsageError(f"no XRT release {name!r} is known", remedy=f"one of: {', '.join(RELEASES)}")
    return name


def at_least(release: str, since: str) -> bool:
    """Whether `release` is `since` or a later one."""
    return RELEASES.index(release) >= RELEASES.index(since)


@dataclass(frozen=True, slots=True)
class Span:
    """The releases that have something: from `since` up to, not including, `until`; and those in `also`."""

    since: str = RELEASES[0]
    until: str | None = None
    also: tuple[str, ...] = ()

    def has(self, release: str) -> bool:
        """Whether it is there in this release."""
        if release in self.also:
            return True
        return at_least(release, self.since) and not (
            self.until is not None and at_least(release, self.until)
        )


ALWAYS = Span()

ENUM_IN_BUFFER = Span("2.20", "2.23")
"""Releases whose access_mode is exported to the class ext.bo, over its methods read and write."""

_LEVELS = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug")
_ACCESS = ("none", "read", "write", "read_write", "local", "shared", "process", "hybrid")

SPANS: dict[str, Span] = {
    **dict.fromkeys(("enumerate_devices", "log_message", "xrt_msg_level", *_LEVELS), Span("2.17")),
    **dict.fromkeys(("elf", "program"), Span("2.19")),
    **dict.fromkeys(("run.wait2", "module", "ext", "runlist"), Span("2.20")),
    "module.get_cfg_uuid": Span("2.20", "2.23"),
    # before that the enum was exported to ext.bo (surface.py)
    **dict.fromkeys((f"ext.{name}" for name in ("access_mode", *_ACCESS)), Span("2.23")),
    **dict.fromkeys(
        (
            f"hw_context.{name}"
            for name in (
                "access_mode",
                "exclusive",
                "shared",
                "add_config",
                "get_device",
                "get_xclbin_uuid",
                "get_xclbin",
                "get_mode",
            )
        ),
        Span("2.23"),
    ),
    "run.get_ctrl_scratchpad_bo": Span("2.25", also=("2.21-branch",)),
    **dict.fromkeys(("graph", "aie"), Span("2.26")),
}
"""By dotted name; what is not here is in all releases."""


def has(release: str, name: str) -> bool:
    """Whether pyxrt of that release has `name` ("run.wait2")."""
    return SPANS.get(name, ALWAYS).has(release)
