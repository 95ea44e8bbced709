"""Which of the flags in which two sets differ change the verdict of our own pipeline: the least of them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..verdict import BisectReport, Transition, Trial
from .bisect_compilers import dump_passes
from .bisect_options import BisectOptions
from .bisect_passes import with_passes
from .bisect_trial import try_build_run
from .bisection import minimal_changes
from .compiler_wheels import Tools
from .source import SourceText
from .stages import Progress

FLAGS = "flags"


def over_flags(options: BisectOptions, source: SourceText, progress: Progress) -> BisectReport:
    good, bad = (shlex.split(text) for text in (options.good, options.bad))
    changes = flag_changes(good, bad)
    tried: dict[tuple[str, ...], Trial] = {}

    def judge(flags: Sequence[str]) -> Trial:
        key = tuple(flags)
        if key not in tried:
            name = " ".join(flags) or "no flags"
            progress(f"trying {name}")
            tried[key] = try_build_run(name, options, iree_flags=(*options.iree_flags, *flags))
        return tried[key]

    first, last = judge(good), judge(bad)
    transitions: tuple[Transition, ...] = ()
    if first.verdict != last.verdict:

        def changed(part: Sequence[FlagChange]) -> bool:
            return judge(apply(good, part)).verdict == last.verdict

        least = minimal_changes(changes, changed)
        flags = apply(good, least)
        cause = ", ".join(change.text for change in least)
        change = Transition(first, judge(flags), cause)
        transitions = (_flag_passes(options, source, change, good, flags),)
    return BisectReport(
        file=source.file,
        over=FLAGS,
        good=options.good,
        bad=options.bad,
        points=len(changes),
        trials=tuple(tried.values()),
        transitions=transitions,
        question=options.question,
    )


@dataclass(frozen=True, slots=True)
class FlagChange:
    """One option that differs: its flag on either side, None where it is not given."""

    before: str | None
    after: str | None

    @property
    def text(self) -> str:
        if self.before is None:
            return f"{self.after}"
        return f"without {self.before}" if self.after is None else f"{self.after} (was {self.before})"


def flag_changes(good: Sequence[str], bad: Sequence[str]) -> tuple[FlagChange, ...]:
    """What has to be changed to get from one set of flags to the other, option by option."""
    old, new = ({_option(flag): flag for flag in flags} for flags in (good, bad))
    return tuple(
        FlagChange(old.get(option), new.get(option))
        for option in dict.fromkeys([*old, *new])
        if old.get(option) != new.get(option)
    )


def apply(good: Sequence[str], changes: Sequence[FlagChange]) -> tuple[str, ...]:
    """The good flags with some of the changes made."""
    replaced = {change.before: change.after for change in changes if change.before is not None}
    added = [change.after for change in changes if change.before is None and change.after is not None]
    kept = [replaced.get(flag, flag) for flag in good]
    return (*(flag for flag in kept if flag is not None), *added)


def _flag_passes(
    options: BisectOptions, source: SourceText, change: Transition, good: Sequence[str], bad: Sequence[str]
) -> Transition:
    """The first pass that differs, by the iree-compile of this environment, where there is one."""
    compile_ = _compiler_here()
    if compile_ is None:
        return change
    tools = Tools(compile_, None)
    dumps = [dump_passes(tools, source, (*options.iree_flags, *flags)) for flags in (good, bad)]
    return with_passes(change, dumps, options.keep)


def _compiler_here() -> Path | None:
    path = Path(sys.executable).parent / "iree-compile"
    return path if path.is_file() else None


def _option(flag: str) -> str:
    return flag.lstrip("-").split("=", 1)[0]
