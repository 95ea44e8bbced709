"""Who knows what of whom: clocks along locks, streams and tokens, without an array."""

from __future__ import annotations

import numpy as np

from aiepipe.emulator.addressing import Piece
from aiepipe.emulator.findings import FindingLog
from aiepipe.emulator.memory import LocalMemory
from aiepipe.emulator.races import Actor, Races

LOCK = ("core (0,2)", 1)


class Scene:
    """Two channels and a core on one memory."""

    def __init__(self, size: int = 0x10000) -> None:
        self.log = FindingLog()
        self.races = Races(self.log)
        self.memory = LocalMemory("core (0,2)", size)

    def writes(self, agent: str, first: int = 0, count: int = 4) -> None:
        self.races.dma_access(agent, 0, self.memory, Piece(first, first + count - 1, count), writes=True)

    def reads(self, agent: str, first: int = 0, count: int = 4) -> None:
        self.races.dma_access(agent, 1, self.memory, Piece(first, first + count - 1, count), writes=False)

    @property
    def messages(self) -> list[str]:
        return [finding.message for finding in self.log.take()]


def test_readers_do_not_disturb_each_other() -> None:
    scene = Scene()
    scene.reads("A")
    scene.reads("B")
    assert scene.messages == []


def test_a_write_after_a_read_and_a_read_after_a_write() -> None:
    scene = Scene()
    scene.reads("A", 0)
    scene.writes("B", 2)
    scene.reads("C", 5)
    assert scene.messages == [
        "B BD 0 writes 8 bytes of core (0,2), the first at 0x8, that A BD 1 read; no lock, stream or token"
        " orders the two",
        "C BD 1 reads 4 bytes of core (0,2), the first at 0x14, that B BD 0 wrote; no lock, stream or token"
        " orders the two",
    ]


def test_a_lock_hands_on_what_was_done_before_its_release_and_not_after() -> None:
    scene = Scene()
    scene.writes("A", 0)
    scene.races.released("A", LOCK)
    scene.writes("A", 8)
    scene.races.acquired("B", LOCK)
    scene.reads("B", 0)
    assert scene.messages == []
    scene.reads("B", 8)
    assert len(scene.messages) == 1


def test_knowledge_goes_on_through_third_parties() -> None:
    scene = Scene()
    scene.writes("A")
    scene.races.received("B", scene.races.sent("A"))
    scene.races.received(Actor.CONTROLLER, scene.races.sent("B"))
    scene.races.range_access(Actor.CONTROLLER, scene.memory, 0, 16)
    assert scene.messages == []


def test_the_same_two_places_are_one_finding() -> None:
    scene = Scene()
    for _ in range(5):
        scene.writes("A")
        scene.writes("B")
    counts = {(found.descriptor, found.channel): found.count for found in scene.log.take()}
    assert sum(counts.values()) == 9
    assert len(counts) == 2


def test_padding_and_patterns_touch_only_their_words() -> None:
    scene = Scene(0x80000)
    pattern = Piece(3, 9, 4, np.array([-1, 3, 9, -1]), padded=True)
    scene.writes("A", 4, 5)
    scene.races.dma_access("B", 2, scene.memory, pattern, writes=False)
    assert scene.messages == []
    scene.writes("A", 9, 1)
    assert "writes 4 bytes of core (0,2), the first at 0x24, that B BD 2 read" in scene.messages[0]


def test_bytes_of_one_word_are_apart_for_cores() -> None:
    scene = Scene()
    scene.races.core_access("A", (0, 16), scene.memory, np.array([0, 1]), writes=True)
    scene.races.core_access("B", (0, 16), scene.memory, np.array([2, 3]), writes=True)
    assert scene.messages == []
    scene.races.core_access("B", (16, 32), scene.memory, np.array([1]), writes=True)
    (message,) = scene.messages
    assert message.startswith(
        "B (between pc 0x0010 and 0x0020) writes 1 bytes of core (0,2), the first at 0x1, that"
        " A (between pc 0x0000 and 0x0010) wrote"
    )


def test_many_accesses_are_kept_apart() -> None:
    """More than the table of accesses has at first."""
    scene = Scene()
    for number in range(3000):
        scene.writes("A", number)
        scene.races.released("A", LOCK)
    scene.races.acquired("B", LOCK)
    scene.writes("B", 0, 3004)
    assert scene.messages == []
    scene.writes("C", 100, 1)
    assert "that B BD 0 wrote" in scene.messages[0]
