"""What compiled code does with a core's ports itself (fast_port.py), as functions of LLVM assembly.

Each gives whether it could; if not, nothing has changed, and the bundle is the plain engine's.
"""

from __future__ import annotations

from ...isa.semantics.meaning import PortUse
from ...isa.semantics.value import I1, I32, I64
from .emission import Writer
from .fast_port import (
    BANKS,
    IN_COUNT,
    IN_FIRST,
    IN_LAST,
    IN_READY,
    IN_WORDS,
    LOCK_CELLS,
    LOCK_FIRST,
    LOCK_RING,
    LOCK_TIMES,
    LOCK_WAIT,
    OFFSET,
    OUT_COUNT,
    OUT_ROOM,
    OUT_WORDS,
    RELEASED,
    SIDES,
)
from .llvm_text import Operand
from .state import PORT

SERVED = frozenset(
    {"acquire", "release", "stream-read", "stream-write", "try-stream-read", "try-stream-write", "event"}
)
"""Kinds of port uses that need not leave compiled code."""

_TAKEN_SHIFT, _TLAST_SHIFT = 33, 32
"""Bits of what @aie_take gives above the word: that there was one, and its TLAST."""


def serve(w: Writer, use: PortUse, args: list[Operand], now: Operand) -> tuple[Operand, list[Operand]]:
    """Emits the use of a port at `now` (bundles and stalls so far). Gives whether it was served (one bit),
    and the values that come back."""
    for name, text in _FUNCTIONS.items():
        w.names.functions.setdefault(name, text.splitlines())
    match use.kind:
        case "acquire" | "release":
            lock, value = (w.resize(arg, I32) for arg in args)
            return w.assign(
                I1, f"call i1 @aie_{use.kind}(ptr %state, {lock.typed}, {value.typed}, {now.typed})"
            ), []
        case "stream-read" | "try-stream-read":
            taken = w.assign(I64, f"call i64 @aie_take(ptr %state, {now.typed})")
            served, tlast = (_bit(w, taken, at) for at in (_TAKEN_SHIFT, _TLAST_SHIFT))
            results = [w.resize(taken, I32), tlast, served]
            return served, results[: len(use.results)]
        case "stream-write" | "try-stream-write":
            word, tlast = w.resize(args[0], I32), w.resize(args[1], I1)
            served = w.assign(I1, f"call i1 @aie_give(ptr %state, {word.typed}, {tlast.typed})")
            return served, [served][: len(use.results)]
        case _:
            return w.assign(I1, "call i1 @aie_event(ptr %state)"), []


def _bit(w: Writer, value: Operand, at: int) -> Operand:
    shifted = w.assign(I64, f"lshr {value.typed}, {at}")
    return w.assign(I1, f"trunc {shifted.typed} to i1")


_PORT = f"""
  %place = getelementptr i8, ptr %state, i64 {PORT}
  %port = load ptr, ptr %place
  %none = icmp eq ptr %port, null
"""

# the lock's cells (%cell), its value (%have) and the request as the seven bits with sign that it has (%r)
_LOCK = f"""{_PORT}
  %far = icmp ugt i32 %lock, {16 * SIDES - 1}
  %strange = or i1 %none, %far
  br i1 %strange, label %no, label %side
side:
  %quarter = lshr i32 %lock, 4
  %at = add i32 %quarter, {BANKS}
  %bankplace = getelementptr ptr, ptr %port, i32 %at
  %bank = load ptr, ptr %bankplace
  %missing = icmp eq ptr %bank, null
  br i1 %missing, label %no, label %found
found:
  %index = and i32 %lock, 15
  %first = mul i32 %index, {LOCK_CELLS}
  %cell = getelementptr i64, ptr %bank, i32 %first
  %have = load i64, ptr %cell
  %firstplace = getelementptr i64, ptr %cell, i32 {LOCK_FIRST}
  %head = load i64, ptr %firstplace
  %ring = getelementptr i64, ptr %cell, i32 {LOCK_RING}
  %high = shl i32 %value, 25
  %signed = ashr i32 %high, 25
  %r = sext i32 %signed to i64
  %offsetplace = getelementptr i64, ptr %port, i32 {OFFSET}
  %offset = load i64, ptr %offsetplace
  %now = add i64 %offset, %counted
"""

_FUNCTIONS = {
    "aie_acquire": f"""
define internal i1 @aie_acquire(ptr %state, i32 %lock, i32 %value, i64 %counted) noinline nounwind {{
start:{_LOCK}
  %least = icmp slt i64 %r, 0
  %positive = sub i64 0, %r
  %n = select i1 %least, i64 %positive, i64 %r
  %enough = icmp sge i64 %have, %n
  %exact = icmp eq i64 %have, %n
  %granted = select i1 %least, i1 %enough, i1 %exact
  br i1 %granted, label %next, label %no
next:
  %i = phi i64 [ 0, %found ], [ %more, %unit ]
  %latest = phi i64 [ %now, %found ], [ %later, %unit ]
  %over = icmp eq i64 %i, %n
  br i1 %over, label %done, label %unit
unit:
  %sum = add i64 %head, %i
  %entry = and i64 %sum, {LOCK_TIMES - 1}
  %timeplace = getelementptr i64, ptr %ring, i64 %entry
  %time = load i64, ptr %timeplace
  %isless = icmp slt i64 %latest, %time
  %later = select i1 %isless, i64 %time, i64 %latest
  %more = add i64 %i, 1
  br label %next
done:
  %taken = select i1 %least, i64 %n, i64 0
  %left = sub i64 %have, %taken
  store i64 %left, ptr %cell
  %moved = add i64 %head, %taken
  %wrapped = and i64 %moved, {LOCK_TIMES - 1}
  store i64 %wrapped, ptr %firstplace
  %waited = sub i64 %latest, %now
  %newoffset = add i64 %offset, %waited
  store i64 %newoffset, ptr %offsetplace
  %waitplace = getelementptr i64, ptr %port, i32 {LOCK_WAIT}
  %before = load i64, ptr %waitplace
  %after = add i64 %before, %waited
  store i64 %after, ptr %waitplace
  ret i1 true
no:
  ret i1 false
}}""",
    "aie_release": f"""
define internal i1 @aie_release(ptr %state, i32 %lock, i32 %value, i64 %counted) noinline nounwind {{
start:{_LOCK}
  %new = add i64 %have, %r
  %outside = icmp ugt i64 %new, {LOCK_TIMES - 1}
  br i1 %outside, label %no, label %next
next:
  %i = phi i64 [ %have, %found ], [ %more, %unit ]
  %over = icmp sge i64 %i, %new
  br i1 %over, label %done, label %unit
unit:
  %sum = add i64 %head, %i
  %entry = and i64 %sum, {LOCK_TIMES - 1}
  %timeplace = getelementptr i64, ptr %ring, i64 %entry
  store i64 %now, ptr %timeplace
  %more = add i64 %i, 1
  br label %next
done:
  store i64 %new, ptr %cell
  %maskplace = getelementptr i64, ptr %port, i32 {RELEASED}
  %mask = load i64, ptr %maskplace
  %wide = zext i32 %lock to i64
  %bit = shl i64 1, %wide
  %set = or i64 %mask, %bit
  store i64 %set, ptr %maskplace
  ret i1 true
no:
  ret i1 false
}}""",
    "aie_take": f"""
define internal i64 @aie_take(ptr %state, i64 %counted) noinline nounwind {{
start:{_PORT}
  br i1 %none, label %no, label %look
look:
  %countplace = getelementptr i64, ptr %port, i32 {IN_COUNT}
  %count = load i64, ptr %countplace
  %empty = icmp eq i64 %count, 0
  br i1 %empty, label %no, label %take
take:
  %firstplace = getelementptr i64, ptr %port, i32 {IN_FIRST}
  %first = load i64, ptr %firstplace
  %words = getelementptr i64, ptr %port, i32 {IN_WORDS}
  %wordplace = getelementptr i64, ptr %words, i64 %first
  %word = load i64, ptr %wordplace
  %next = add i64 %first, 1
  store i64 %next, ptr %firstplace
  %left = sub i64 %count, 1
  store i64 %left, ptr %countplace
  %offsetplace = getelementptr i64, ptr %port, i32 {OFFSET}
  %offset = load i64, ptr %offsetplace
  %now = add i64 %offset, %counted
  %readyplace = getelementptr i64, ptr %port, i32 {IN_READY}
  store i64 %now, ptr %readyplace
  %lastplace = getelementptr i64, ptr %port, i32 {IN_LAST}
  %last = load i64, ptr %lastplace
  %end = icmp eq i64 %left, 0
  %tlast = select i1 %end, i64 %last, i64 0
  %flag = shl i64 %tlast, {_TLAST_SHIFT}
  %flagged = or i64 %word, %flag
  %result = or i64 %flagged, {1 << _TAKEN_SHIFT}
  ret i64 %result
no:
  ret i64 0
}}""",
    "aie_give": f"""
define internal i1 @aie_give(ptr %state, i32 %word, i1 %tlast) noinline nounwind {{
start:{_PORT}
  %strange = or i1 %none, %tlast
  br i1 %strange, label %no, label %look
look:
  %roomplace = getelementptr i64, ptr %port, i32 {OUT_ROOM}
  %room = load i64, ptr %roomplace
  %full = icmp eq i64 %room, 0
  br i1 %full, label %no, label %give
give:
  %countplace = getelementptr i64, ptr %port, i32 {OUT_COUNT}
  %count = load i64, ptr %countplace
  %words = getelementptr i64, ptr %port, i32 {OUT_WORDS}
  %wordplace = getelementptr i64, ptr %words, i64 %count
  %wide = zext i32 %word to i64
  store i64 %wide, ptr %wordplace
  %more = add i64 %count, 1
  store i64 %more, ptr %countplace
  %left = sub i64 %room, 1
  store i64 %left, ptr %roomplace
  ret i1 true
no:
  ret i1 false
}}""",
    "aie_event": f"""
define internal i1 @aie_event(ptr %state) noinline nounwind {{
start:{_PORT}
  %there = xor i1 %none, true
  ret i1 %there
}}""",
}
