"""What a bundle asks of its tile, put to the port."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...isa.semantics.meaning import PortKind
from ...isa.semantics.value import Type
from .operations import as_signed
from .port import CorePort, ProcessorBus, StopKind
from .state import PlainValue, decode, encode

CASCADE_WORD = Type(32, 16)
STREAM_PORT = 0
"""An AIE2 core has one stream port each way (facts 2.5)."""

Results = tuple[PlainValue, ...]


class Fault(Exception):
    """Something that the core cannot do; `kind` as in EmulationError."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Wait:
    """The port cannot serve this now. Fields as in CoreStop."""

    kind: StopKind
    number: int = 0
    value: int = 0


def serve(port: CorePort, kind: PortKind, args: Sequence[PlainValue], bundles: int) -> Results | Wait:
    """The values that come back, or what is waited for. Raises Fault."""
    if kind == "cycle":
        return (bundles & (1 << 64) - 1,)
    if kind == "done":
        return Wait("done")
    return _SERVICES[kind](port, args)


def _number(value: PlainValue) -> int:
    if not isinstance(value, int):
        raise TypeError("a port takes scalars")
    return value


def _acquire(port: CorePort, args: Sequence[PlainValue]) -> Results | Wait:
    lock, value = _number(args[0]), as_signed(_number(args[1]), 32)
    return () if port.acquire(lock, value) else Wait("acquire", lock, value)


def _release(port: CorePort, args: Sequence[PlainValue]) -> Results | Wait:
    lock, value = _number(args[0]), as_signed(_number(args[1]), 32)
    return () if port.release(lock, value) else Wait("release", lock, value)


def _stream_read(port: CorePort, _: Sequence[PlainValue]) -> Results | Wait:
    got = port.stream_get(STREAM_PORT)
    return Wait("stream-read") if got is None else (got[0], int(got[1]))


def _try_stream_read(port: CorePort, _: Sequence[PlainValue]) -> Results | Wait:
    got = port.stream_get(STREAM_PORT)
    return (0, 0, 0) if got is None else (got[0], int(got[1]), 1)


def _stream_write(port: CorePort, args: Sequence[PlainValue]) -> Results | Wait:
    sent = port.stream_put(STREAM_PORT, _number(args[0]), bool(args[1]))
    return () if sent else Wait("stream-write")


def _try_stream_write(port: CorePort, args: Sequence[PlainValue]) -> Results | Wait:
    return (int(port.stream_put(STREAM_PORT, _number(args[0]), bool(args[1]))),)


def _cascade_read(port: CorePort, _: Sequence[PlainValue]) -> Results | Wait:
    data = port.cascade_get()
    return Wait("cascade-read") if data is None else (decode(CASCADE_WORD, data),)


def _cascade_write(port: CorePort, args: Sequence[PlainValue]) -> Results | Wait:
    return () if port.cascade_put(encode(CASCADE_WORD, args[0])) else Wait("cascade-write")


def _event(port: CorePort, args: Sequence[PlainValue]) -> Results | Wait:
    port.event(_number(args[0]))
    return ()


def _bus_read(port: CorePort, args: Sequence[PlainValue]) -> Results | Wait:
    return (_bus(port).bus_read(_number(args[0])),)


def _bus_write(port: CorePort, args: Sequence[PlainValue]) -> Results | Wait:
    _bus(port).bus_write(_number(args[0]), _number(args[1]))
    return ()


def _bus(port: CorePort) -> ProcessorBus:
    if not isinstance(port, ProcessorBus):
        raise Fault("out-of-range", "lda.tm or st.tm, where the core has no way to the tile's registers")
    return port


_SERVICES: dict[PortKind, Callable[[CorePort, Sequence[PlainValue]], Results | Wait]] = {
    "acquire": _acquire,
    "release": _release,
    "stream-read": _stream_read,
    "try-stream-read": _try_stream_read,
    "stream-write": _stream_write,
    "try-stream-write": _try_stream_write,
    "cascade-read": _cascade_read,
    "cascade-write": _cascade_write,
    "event": _event,
    "bus-read": _bus_read,
    "bus-write": _bus_write,
}
