"""Diagnoses that need only the numbers: where the wrong ones are, what they hold, how they resemble others.

Each rule looks at a `Case` and the mask of its wrong elements, and says at most one thing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..verdict import Diagnosis, EventKind, HostEvent, Likelihood
from .case import Case
from .comparison import LINE_BYTES, Mask, same_bits
from .rounding import stored, widened, wrapped

Array = npt.NDArray[Any]
Rule = Callable[[Case, Mask], Diagnosis | None]

_SHIFTS = 64
_SAMPLE = 512
_SMALLEST_BLOCK = 4
_HELD = {
    "poison": "the poison the host wrote before the run",
    "old value": "what the buffer held before the run",
    "zero": "zero",
}


def dirty_host_lines(case: Case, wrong: Mask) -> Diagnosis | None:
    """Whole 64-byte lines with what the host had in its cache (nod-ai/iree-amd-aie#209)."""
    for kind, mask in case.holding(wrong).items():
        touched, whole, total = case.lines(mask)
        if not np.array_equal(mask, wrong) or touched != whole or touched == total:
            continue
        presynced = _synced_before_start(case)
        evidence = [
            f"wrong lines of {LINE_BYTES} bytes: {touched} of {total}, each in all its elements",
            f"all {int(wrong.sum())} wrong elements hold {_HELD[kind]}",
        ]
        if presynced is not None:
            has = "has a" if presynced else "has no"
            evidence.append(f"the run log {has} sync to the device between the host's write and the start")
        likelihood = {None: Likelihood.LIKELY, True: Likelihood.POSSIBLE, False: Likelihood.CERTAIN}[
            presynced
        ]
        if kind == "zero" and likelihood is Likelihood.LIKELY:
            likelihood = Likelihood.POSSIBLE
        return case.says(
            "dirty-host-lines",
            f"wrong elements fill whole 64-byte lines of the buffer and hold {_HELD[kind]}: dirty host cache "
            "lines written back over the device's result",
            evidence,
            likelihood,
        )
    return None


def never_written(case: Case, wrong: Mask) -> Diagnosis | None:
    """The whole result is what the buffer held before."""
    for kind, mask in case.holding(np.ones_like(wrong)).items():
        if kind == "zero" or not mask.all():
            continue
        back = _synced_after_wait(case)
        if back is False:
            return case.says(
                "not-read-back",
                "the host never synced the result from the device, so it reads its own old copy",
                [
                    f"every element holds {_HELD[kind]}",
                    "the run log has no sync from the device after the run",
                ],
                Likelihood.CERTAIN,
            )
        return case.says(
            "never-written",
            "the whole output was never written by the device",
            [f"every element holds {_HELD[kind]}"],
            Likelihood.LIKELY,
        )
    return None


def all_zero(case: Case, wrong: Mask) -> Diagnosis | None:
    """Zeros everywhere, where others are expected."""
    if not case.holding(np.ones_like(wrong))["zero"].all():
        return None
    return case.says(
        "all-zero",
        "the whole output is zero: it was cleared and nothing was added, or the inputs were read as zero",
        [f"{int(wrong.sum())} of {wrong.size} elements should not be zero"],
        Likelihood.LIKELY,
    )


def unwritten_part(case: Case, wrong: Mask) -> Diagnosis | None:
    """Poison, but not in whole lines: a tile's or a core's share is missing."""
    poison = case.holding(wrong).get("poison")
    if poison is None or not poison.any() or bool(case.holding(np.ones_like(wrong))["poison"].all()):
        return None
    touched, whole, _ = case.lines(poison)
    if touched == whole and np.array_equal(poison, wrong):
        return None
    places = np.argwhere(poison)
    low, high = ([int(n) for n in ends] for ends in (places.min(axis=0), places.max(axis=0)))
    sides = [b - a + 1 for a, b in zip(low, high, strict=True)]
    filled = math.prod(sides) == len(places)
    shape = "x".join(map(str, sides))
    return case.says(
        "part-not-written",
        f"the block {low} to {high} ({shape}) was never written: a tile's or a core's share is missing"
        if filled
        else f"{len(places)} elements were never written by the device",
        [
            f"{len(places)} elements hold {_HELD['poison']}",
            f"they touch {touched} lines of {LINE_BYTES} bytes and fill {whole}: not the host's cache",
        ],
        Likelihood.LIKELY,
    )


def one_share(case: Case, wrong: Mask) -> Diagnosis | None:
    """Everything wrong came one way out of the array, by the artifact's own BDs."""
    if len(case.shares) < 2 or dtypes.storage_bits(case.type.element) < 8:
        return None
    size = case.got.dtype.itemsize
    places = np.flatnonzero(wrong.reshape(-1)) * size
    for share in case.shares:
        inside = np.zeros(case.type.size_bytes, np.bool_)
        for offset, length in share.ranges:
            inside[offset : offset + length] = True
        if not inside[places].all():
            continue
        elements = int(np.count_nonzero(inside[::size]))
        sure = Likelihood.LIKELY if 2 * len(places) > elements else Likelihood.POSSIBLE
        return case.says(
            "one-share",
            f"all wrong elements came through {share.name}, and nothing that came another way is wrong",
            [
                f"{len(places)} of that share's {elements} elements are wrong",
                f"{len(case.shares)} shares in all, by the instruction stream's BDs",
            ],
            sure,
        )
    return None


def one_block(case: Case, wrong: Mask) -> Diagnosis | None:
    """Everything wrong lies in one rectangle, and fills most of it: what a core or a tile computes."""
    places = np.argwhere(wrong)
    if wrong.ndim < 2 or len(places) < _SMALLEST_BLOCK:
        return None
    low, high = places.min(axis=0), places.max(axis=0)
    sides = [int(n) for n in high - low + 1]
    size = math.prod(sides)
    flat = min(sides[-2:]) < 2
    whole_rows = sides[1:] == list(wrong.shape[1:])
    aligned = all(a % side == 0 for a, side in zip(low.tolist(), sides, strict=True))
    if flat or whole_rows or not aligned or 4 * len(places) < 3 * size or 2 * size > wrong.size:
        return None
    where = ", ".join(f"{a} to {b}" for a, b in zip(low.tolist(), high.tolist(), strict=True))
    return case.says(
        "one-block",
        f"all wrong elements lie in the block [{where}] ({'x'.join(map(str, sides))}), "
        "at a multiple of its size: a core's or a tile's share",
        [
            f"{len(places)} of the block's {size} elements are wrong",
            f"the other {wrong.size - size} elements are right",
        ],
        Likelihood.LIKELY,
    )


def stale(case: Case, wrong: Mask) -> Diagnosis | None:
    """The whole result is another one's: of the run before, with other inputs."""
    if case.previous is None or not same_bits(case.got, case.previous).all():
        return None
    return case.says(
        "stale",
        "the result is that of the run before: the inputs, or the result, were not synced",
        [f"all {wrong.size} elements are the old ones"],
        Likelihood.LIKELY,
    )


def one_batch(case: Case, wrong: Mask) -> Diagnosis | None:
    """Only some of the leading indices have errors (nod-ai/iree-amd-aie#750)."""
    if wrong.ndim < 3:
        return None
    counts = wrong.sum(axis=(-2, -1))
    bad = np.argwhere(counts)
    if len(bad) in (0, counts.size):
        return None
    names = ", ".join(",".join(map(str, at)) for at in bad[:8].tolist())
    more = f" and {len(bad) - 8} more" if len(bad) > 8 else ""
    noun = "batch" if len(bad) == 1 else "batches"
    return case.says(
        "one-batch",
        f"only {noun} {names}{more} of {counts.size} {'is' if len(bad) == 1 else 'are'} wrong",
        [f"the other {counts.size - len(bad)} are right in all elements"],
        Likelihood.CERTAIN,
    )


def transposed(case: Case, wrong: Mask) -> Diagnosis | None:
    """The matrix, or its memory, is the other way round."""
    if wrong.ndim < 2:
        return None
    turned = np.swapaxes(case.want, -1, -2)
    candidate = np.ascontiguousarray(turned).reshape(case.want.shape)
    if not case.explained_by(candidate, wrong) or not _tells(case, wrong):
        return None
    return case.says(
        "transposed",
        "the result is stored transposed",
        [f"all {int(wrong.sum())} wrong elements are those of the transposed result"],
        Likelihood.LIKELY,
    )


def shifted(case: Case, wrong: Mask) -> Diagnosis | None:
    """Right values, some elements, rows or lines further."""
    want, got, bad = case.want.reshape(-1), case.got.reshape(-1), wrong.reshape(-1)
    if not _tells(case, wrong):
        return None
    row = case.type.shape[-1] if case.type.shape else 1
    line = max(LINE_BYTES * 8 // dtypes.storage_bits(case.type.element), 1)
    steps = dict.fromkeys(k * unit for unit in (1, row, line) for k in range(1, _SHIFTS + 1))
    at = np.flatnonzero(bad)
    some = at[:: max(1, len(at) // _SAMPLE)]
    for step in (sign * step for step in steps if step < want.size for sign in (1, -1)):
        # at some places first: there are hundreds of steps
        if _is_moved(got, want, some, step) and _is_moved(got, want, at, step):
            where = f"{abs(step)} elements {'later' if step > 0 else 'earlier'}"
            if row > 1 and step % row == 0:
                where += f" ({abs(step) // row} rows)"
            return case.says(
                "shifted",
                f"the right values stand {where} than they should",
                [f"{len(at)} wrong elements hold what belongs {abs(step)} elements away"],
                Likelihood.LIKELY,
            )
    return None


def _is_moved(got: Array, want: Array, at: npt.NDArray[np.int64], step: int) -> bool:
    """Whether got[i] is want[i - step] at these places, as far as that is inside; most must be inside."""
    inside = at[(at >= step) & (at - step < want.size)]
    return 2 * len(inside) > len(at) and bool(same_bits(got[inside], want[inside - step]).all())


def permuted(case: Case, wrong: Mask) -> Diagnosis | None:
    """The same values at other places."""
    if not _tells(case, wrong) or case.got.dtype.kind == "c":
        return None
    got, want = (np.sort(v.astype(np.float64).reshape(-1)) for v in (case.got, case.want))
    if not np.array_equal(got, want):
        return None
    return case.says(
        "permuted",
        "all the right values are there, at other places: the layout of a tile or of the result is wrong",
        [f"sorted, the {wrong.size} values are those expected"],
        Likelihood.LIKELY,
    )


def narrowed(case: Case, wrong: Mask) -> Diagnosis | None:
    """Values cut to fewer bits, or saturated to them."""
    for text, candidate in _narrow_forms(case):
        if case.explained_by(candidate, wrong):
            return case.says(
                "narrowed",
                f"the right values went through a narrower type: {text}",
                [f"all {int(wrong.sum())} wrong elements are explained"],
                Likelihood.LIKELY,
            )
    return None


def _narrow_forms(case: Case) -> Iterator[tuple[str, Array]]:
    element = dtypes.canonical(case.type.element)
    if dtypes.is_float(element):
        wide = widened(case.want)
        for narrow in ("bf16", "f16"):
            if element in ("f32", "f64"):
                yield f"rounded to {narrow}", stored(widened(stored(wide, narrow)), element)
        return
    if element in ("i1", "index") or not dtypes.is_integer(element):
        return
    wide = case.want.astype(np.int64)
    for bits in (8, 16, 32):
        if bits >= int(element[1:]):
            return
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        forms = {
            f"cut to {bits} bits, signed": wrapped(wide, bits),
            f"cut to {bits} bits, unsigned": wide & ((1 << bits) - 1),
            f"saturated to i{bits}": np.clip(wide, low, high),
            f"saturated to unsigned {bits} bits": np.clip(wide, 0, (1 << bits) - 1),
        }
        for text, values in forms.items():
            yield text, values.astype(case.want.dtype)


def off_by_rounding(case: Case, wrong: Mask) -> Diagnosis | None:
    """Small relative errors everywhere: more rounding than assumed, or to one side."""
    if not dtypes.is_float(case.type.element) or case.bound is None:
        return None
    got, want = widened(case.got)[wrong], widened(case.want)[wrong]
    bound = np.broadcast_to(case.bound, wrong.shape)[wrong]
    with np.errstate(all="ignore"):
        share = np.abs(got - want) / bound
    if not np.isfinite(share).all() or float(share.max()) > 8:
        return None
    errors = widened(case.got) - widened(case.want)
    below = float((errors < 0).mean())
    evidence = [f"the largest error is {float(share.max()):.1f} times what we expect of rounding"]
    if max(below, float((errors > 0).mean())) > 0.9:
        side = "below" if below > 0.5 else "above"
        evidence.append(f"more than 9 of 10 errors are {side}: it rounds to one side")
    return case.says(
        "rounding",
        "off by rounding: a narrower accumulator, or more roundings, than the reference assumes",
        evidence,
        Likelihood.LIKELY,
    )


def intermittent(case: Case, _wrong: Mask) -> Diagnosis | None:
    """Right in some runs."""
    told = case.statistics
    if told is None or told.wrong_runs in (0, told.runs) or told.runs < 2:
        return None
    return case.says(
        "intermittent",
        "the same bytes are right in other runs: timing or a missing sync, not the compiler's arithmetic",
        [f"{told.wrong_runs} of {told.runs} runs are wrong, {told.wrong_lines} different lines in all"],
        Likelihood.LIKELY,
    )


RULES: tuple[Rule, ...] = (
    dirty_host_lines,
    never_written,
    stale,
    all_zero,
    unwritten_part,
    one_share,
    one_block,
    one_batch,
    transposed,
    shifted,
    narrowed,
    permuted,
    intermittent,
)


# --------------------------------------------------------------------------- what the run log says


def _tells(case: Case, wrong: Mask) -> bool:
    """Whether the values differ enough for a resemblance to mean something."""
    return len(np.unique(case.want[wrong].astype(np.float64))) > 2 if case.want.dtype.kind != "c" else False


def _synced_before_start(case: Case) -> bool | None:
    """Whether the result's buffer was synced to the device after the host last wrote it, before the first
    start. None when there is no log or the host did not write."""
    start = next((i for i, e in enumerate(case.events) if e.kind is EventKind.START), None)
    if start is None or case.buffer is None:
        return None
    mine = [e for e in case.events[:start] if e.buffer == case.buffer]
    writes = [i for i, e in enumerate(mine) if e.kind is EventKind.WRITE]
    if not writes:
        return None
    return _covers(mine[writes[-1] :], EventKind.SYNC_TO, case)


def _synced_after_wait(case: Case) -> bool | None:
    """Whether the whole result was synced from the device after the last wait."""
    waits = [i for i, e in enumerate(case.events) if e.kind is EventKind.WAIT]
    if not waits or case.buffer is None:
        return None
    mine = [e for e in case.events[waits[-1] :] if e.buffer == case.buffer]
    return _covers(mine, EventKind.SYNC_FROM, case)


def _covers(events: Sequence[HostEvent], kind: EventKind, case: Case) -> bool:
    """Whether syncs of this kind touch every byte of the result."""
    covered = np.zeros(case.type.size_bytes, np.bool_)
    for event in events:
        if event.kind is kind:
            start = event.offset_bytes - case.offset_bytes
            covered[max(start, 0) : max(start + event.length_bytes, 0)] = True
    return bool(covered.all())
