"""Runs that the host has started and not yet seen the end of: what may still touch its buffers."""

from __future__ import annotations

from dataclasses import dataclass, field

from .events import BoundArgument, Site
from .shadow import Ranges

FINAL_STATES = frozenset(
    f"ERT_CMD_STATE_{name}"
    for name in ("COMPLETED", "ERROR", "ABORT", "TIMEOUT", "NORESPONSE", "SKERROR", "SKCRASHED")
)
"""States that a run does not leave; NEW, QUEUED, SUBMITTED and RUNNING it does."""


@dataclass(slots=True)
class Flight:
    """One such run. `reads` are the host's reads meanwhile as (allocation, offset, length, site), `wrote`
    what the device wrote as (allocation, offset, length); `finished`: the device is done, the host unaware.
    """

    number: int
    arguments: tuple[BoundArgument, ...]
    site: Site
    kernel: str = ""
    finished: bool = False
    reads: list[tuple[int, int, int, Site]] = field(default_factory=list[tuple[int, int, int, Site]])
    wrote: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])

    def bound(self, allocation: int, offset: int, length: int) -> BoundArgument | None:
        """The first argument that touches the range."""
        for argument in self.arguments:
            if argument.allocation == allocation and _meet(argument, offset, length):
                return argument
        return None


class Flights:
    """All of them, by number."""

    def __init__(self) -> None:
        self._flights: dict[int, Flight] = {}

    @property
    def all(self) -> tuple[Flight, ...]:
        """In the order of their starts."""
        return tuple(self._flights.values())

    def add(self, flight: Flight) -> None:
        """A run was started."""
        self._flights[flight.number] = flight

    def get(self, number: int) -> Flight | None:
        """The run of that number, while it flies."""
        return self._flights.get(number)

    def using(self, allocation: int, offset: int, length: int) -> list[tuple[Flight, BoundArgument]]:
        """Runs with an argument that touches the range."""
        found = [(flight, flight.bound(allocation, offset, length)) for flight in self._flights.values()]
        return [(flight, argument) for flight, argument in found if argument is not None]

    def ended(self, number: int) -> None:
        """The host saw the end of a run, and so of those that the device had finished before: runs of a
        context end in order."""
        self._flights = {
            other: flight
            for other, flight in self._flights.items()
            if other > number or not (flight.finished or other == number)
        }


def intersection(argument: BoundArgument, offset: int, length: int) -> Ranges:
    """The part of the range that is the argument's."""
    low = max(argument.offset_bytes, offset)
    return ((low, min(argument.offset_bytes + argument.length_bytes, offset + length) - low),)


def _meet(argument: BoundArgument, offset: int, length: int) -> bool:
    end = argument.offset_bytes + argument.length_bytes
    return argument.offset_bytes < offset + length and offset < end
