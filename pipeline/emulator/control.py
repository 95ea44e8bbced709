"""A tile's control port: control packets in, their answers and task-completion tokens out.

Control packets have a packet header, a second header with address and operation, and data; both headers
carry odd parity (CONTROL_PACKET_HANDLER_STATUS has a bit for each). Operations 0 and 2 write one to four
consecutive registers, 1 reads them and answers with a packet of the given stream id.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from ..npu.topology import Bundle, Port, TileAddress
from .fabric import Active, Fabric, Outlet
from .packets import READ_OPERATION, ControlHeader, Token, packet_header, parse_control_header, token_word
from .races import Actor
from .streams import UNLIMITED, Fifo, Stamp, Words

OUTPUT_PACKETS = 8
"""Tokens and answers that wait for the stream; further tasks wait to send theirs (an estimate)."""

_PACKET_ROOM = 64

FIRST_PARITY, SECOND_PARITY, TLAST_ERROR = 1, 2, 8
"""Bits of CONTROL_PACKET_HANDLER_STATUS."""


class ControlPort(Active):
    """Port TileCtrl of one tile's stream switch, both ways."""

    def __init__(
        self,
        fabric: Fabric,
        tile: TileAddress,
        *,
        read: Callable[[int], int],
        write: Callable[[int, int], None],
        warn: Callable[[str], None],
    ) -> None:
        self.name = f"control port of {tile}"
        self.tile = tile
        self.status = 0
        self.outlet = Outlet(fabric, tile, Port(Bundle.CONTROL))
        self._fabric = fabric
        self._read = read
        self._write = write
        self._warn = warn
        self._out: deque[tuple[Words, int]] = deque()
        self._headers = 0
        self._header: ControlHeader | None = None
        self._data: list[int] = []
        self._skipping = False
        self._in = Fifo(_PACKET_ROOM)
        self._time = 0

    def reset(self) -> None:
        """Drops all packets."""
        self._out.clear()
        self._in.clear()
        self._skipping = False
        self._restart()
        self.status = 0

    # ----------------------------------------------------------------- out

    def send_token(self, token: Token, controller: int, time: int) -> bool:
        """Queues a token; False while too many wait."""
        return self._send(np.array([token_word(token, controller)], np.uint32), time)

    def idle(self) -> bool:
        return not self._out and not self._in.count

    def advance(self) -> bool:
        moved = False
        while self._out:
            words, time = self._out[0]
            room = self.outlet.route().room()
            if not room:
                break
            part, rest = words[:room], words[room:]
            self.outlet.route().push(part, rest.size == 0, time)
            if rest.size:
                self._out[0] = rest, time
            else:
                self._out.popleft()
            moved = True
        while self._in.count and len(self._out) < OUTPUT_PACKETS:
            words, last, self._time = self._in.take(1)
            self._word(int(words[0]), last)
            moved = True
        return moved

    @property
    def waiting(self) -> int:
        """Packets that wait to leave."""
        return len(self._out)

    @property
    def unread(self) -> int:
        """Words of a packet that has not come to its end."""
        return self._in.count + self._headers + len(self._data)

    def _send(self, words: Words, time: int) -> bool:
        if len(self._out) >= OUTPUT_PACKETS:
            return False
        self._out.append((words, time))
        self._fabric.wake(self)
        return True

    # ----------------------------------------------------------------- in

    def room(self) -> int:
        return self._in.free

    def push(self, words: Words, last: bool, time: int) -> None:
        self._in.put(words, last, time)
        self._fabric.wake(self)

    def ready_time(self) -> int:
        return 0

    def connect(self, switches: int) -> None:
        pass

    def describe(self) -> str:
        return self.name

    def holder(self) -> str:
        return self.name

    def _word(self, word: int, last: bool) -> None:
        if self._skipping:
            self._skipping = not last
            return
        self._headers += 1
        complete = False
        if self._headers == 1:
            if not word.bit_count() & 1:
                self._refuse(FIRST_PARITY, "its packet header has the wrong parity", last)
                return
        elif self._header is None:
            self._header = parse_control_header(word)
            if not self._header.parity_good:
                self._refuse(SECOND_PARITY, "its control header has the wrong parity", last)
                return
            complete = self._header.data_words == 0
        else:
            self._data.append(word)
            complete = len(self._data) == self._header.data_words
        if complete and self._header is not None:
            self._execute(self._header)
            self._restart()
            if not last:
                self.status |= TLAST_ERROR
        elif last:
            self._refuse(TLAST_ERROR, "it ended too early", last)

    def _execute(self, header: ControlHeader) -> None:
        races = self._fabric.checks.races
        if races is not None and isinstance(self._time, Stamp):
            # a packet writes registers as the controller does, and comes after all that its sender knew
            races.received(Actor.CONTROLLER, self._time.clock)
        offsets = range(header.address, header.address + 4 * header.beats, 4)
        if header.data_words:
            for offset, word in zip(offsets, self._data, strict=True):
                self._write(offset, word)
        elif header.operation == READ_OPERATION:
            answer = [
                packet_header(self.tile, header.response_id, 0),
                *(self._read(offset) for offset in offsets),
            ]
            self._send(np.array(answer, np.uint32), self._time)
        else:
            self._warn(
                f"{self.name}: control packet with operation {header.operation}, which has no meaning here"
            )

    def _refuse(self, status: int, why: str, last: bool) -> None:
        self.status |= status
        self._warn(f"{self.name} dropped a control packet: {why}")
        self._skipping = not last
        self._restart()

    def _restart(self) -> None:
        self._headers = 0
        self._header = None
        self._data = []


class TokenSink:
    """Where task-completion tokens leave the array to the controller."""

    def __init__(self, take: Callable[[int, int], None]) -> None:
        self._take = take

    def room(self) -> int:
        return UNLIMITED

    def push(self, words: Words, _last: bool, time: int, /) -> None:
        for word in words.tolist():
            self._take(word, time)

    def ready_time(self) -> int:
        return 0

    def connect(self, switches: int) -> None:
        pass

    def describe(self) -> str:
        return "the controller"

    def holder(self) -> str:
        return "the controller"
