"""Small pieces of text that reports share: times, sizes, places, counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def duration(seconds: float) -> str:
    """A time with three digits: "0.6 ms", "123 ms", "1.23 s", "2 min 5 s"."""
    if seconds < 0.9995:
        milliseconds = seconds * 1e3
        return f"{milliseconds:.1f} ms" if milliseconds < 9.95 else f"{milliseconds:.0f} ms"
    if seconds < 59.995:
        return f"{seconds:.2f} s"
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60} s"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """ "1 line", "2 lines", "1,234 lines"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """A share with a sensible number of digits: "53.5 %", "0.02 %", "100 %"."""
    value = share * 100
    if value in (0.0, 100.0):
        return f"{value:.0f} %"
    return f"{value:.2g} %" if value < 1 else f"{value:.1f} %"


def index(numbers: Sequence[int]) -> str:
    """An element's place: "[17, 32]"; a scalar has none."""
    return f"[{', '.join(map(str, numbers))}]"


def byte_range(offset: int | None, length: int | None) -> str:
    """ "[0, 16384)", or "unknown range" where the IR does not say."""
    if offset is None or length is None:
        return "range unknown" if offset is None else f"from {offset}"
    return f"[{offset}, {offset + length})"


def listed(numbers: Iterable[int], most: int = 8) -> str:
    """ "3, 5, 8 to 11, ... (40 more)": ranges joined, cut after `most` pieces."""
    pieces: list[tuple[int, int]] = []
    for number in numbers:
        if pieces and pieces[-1][1] == number - 1:
            pieces[-1] = (pieces[-1][0], number)
        else:
            pieces.append((number, number))
    shown = ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in pieces[:most])
    rest = sum(b - a + 1 for a, b in pieces[most:])
    return f"{shown}, ... ({rest} more)" if rest else shown
