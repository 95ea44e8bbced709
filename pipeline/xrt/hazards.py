"""The hazards that the sanitizer knows, as a table: stable id, name, severity, where it bites, the fix.

Ids and conditions: docs/syncs.md. `policies` are the coherency policies on
which the hazard can give wrong numbers: a coherent device snoops, so only races and lifetimes remain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..verdict import Severity
from .memory import Coherency

_X86, _INV, _COHERENT = (policy.value for policy in Coherency)
_CACHED = (_X86, _INV)
_ALL = (_X86, _INV, _COHERENT)


@dataclass(frozen=True, slots=True)
class Hazard:
    """One kind of hazard. `says` and `fix` are templates with {buffer}, {prior}, {current}; {detail} where
    the hazard is a call that is wrong whatever the bytes are."""

    id: str
    name: str
    severity: Severity
    policies: tuple[str, ...]
    says: str
    fix: str


_E, _W, _I, _P = Severity.ERROR, Severity.WARNING, Severity.PORTABILITY, Severity.PERFORMANCE

HAZARDS: Mapping[str, Hazard] = {
    hazard.id: hazard
    for hazard in (
        Hazard(
            "S001",
            "HOST_WRITE_NOT_SYNCED",
            _E,
            _CACHED,
            "the device reads {bytes} of {buffer} that the host wrote and did not sync: it may see old bytes",
            "sync {buffer} to the device after the write at {prior} and before the run starts",
        ),
        Hazard(
            "S002",
            "DIRTY_OUTPUT_LINE",
            _E,
            _CACHED,
            "the device writes {lines} of {buffer} that may be dirty in the host's cache: old host bytes "
            "can be written back over its result at any later time",
            "sync {buffer} to the device after the write at {prior} and before the run starts, "
            "or do not write it",
        ),
        Hazard(
            "S003",
            "DEVICE_WRITE_NOT_SYNCED",
            _E,
            _CACHED,
            "the host reads {bytes} of {buffer} that the device wrote, without a sync from the device since",
            "sync {buffer} from the device after the run completed and before the read at {current}",
        ),
        Hazard(
            "S004",
            "READ_RACING_RUN",
            _E,
            _ALL,
            "the host reads {bytes} of {buffer} while a run that writes them may still be in flight",
            "wait for the run (and check its state) before the read at {current}",
        ),
        Hazard(
            "S005",
            "WRITE_RACING_RUN",
            _E,
            _ALL,
            "the host writes {bytes} of {buffer} while a run that uses the buffer may still be in flight",
            "wait for the run before the write at {current}",
        ),
        Hazard(
            "S006",
            "PARTIAL_LINE_WRITE",
            _E,
            _CACHED,
            "the host writes part of a line of {buffer} whose other bytes the device wrote and nobody "
            "synced: the line will be written back whole, with old bytes",
            "sync {buffer} from the device before the write at {current}",
        ),
        Hazard(
            "S007",
            "PARTIAL_SYNC_TO",
            _E,
            _CACHED,
            "the sync of {buffer} to the device leaves out {bytes} that the host wrote",
            "sync all that was written, or the whole of {buffer}",
        ),
        Hazard(
            "S008",
            "PARTIAL_SYNC_FROM",
            _E,
            _CACHED,
            "the sync of {buffer} from the device leaves out {bytes} that the device wrote and the host "
            "reads",
            "sync all that is read, or the whole of {buffer}",
        ),
        Hazard(
            "S009",
            "SYNC_CLOBBERS_DEVICE",
            _E,
            (_X86,),
            "this sync writes dirty lines of {buffer} back over {bytes} that the device wrote later",
            "sync {buffer} to the device before the run starts; afterwards it is too late",
        ),
        Hazard(
            "S010",
            "SYNC_RACING_RUN",
            _E,
            _CACHED,
            "{buffer} is synced while a run that uses it may still be in flight",
            "wait for the run before the sync at {current}",
        ),
        Hazard(
            "S011",
            "FROM_ON_DIRTY",
            _I,
            (_INV,),
            "a sync from the device on dirty lines of {buffer}: x86 writes them back, other hosts throw "
            "{bytes} away",
            "sync {buffer} to the device after the write at {prior}",
        ),
        Hazard(
            "S012",
            "READBACK_OF_FAILED_RUN",
            _E,
            _ALL,
            "the host takes {bytes} of {buffer} from a run that did not complete",
            "check the state that wait() returns, and use no output of such a run",
        ),
        Hazard(
            "S013",
            "FALSE_SHARING",
            _W,
            _CACHED,
            "two arguments of one run share {lines} of {buffer}, and the device writes there",
            "give each argument whole 64-byte lines: align offset and size of the sub-buffers",
        ),
        Hazard(
            "S014",
            "UNINIT_INPUT",
            _W,
            _ALL,
            "the device reads {bytes} of {buffer} that nobody has written",
            "write {buffer} (and sync it) before the run starts",
        ),
        Hazard(
            "S015",
            "UNWRITTEN_OUTPUT",
            _W,
            _ALL,
            "a run completed and did not write {bytes} of {buffer}, which it was said to write",
            "look at the kernel and at its instruction stream: part of the output is what it was before",
        ),
        Hazard(
            "S016",
            "ALIAS",
            _W,
            _ALL,
            "two arguments of one run overlap in {bytes} of {buffer}, and the device writes there",
            "give each argument a buffer of its own",
        ),
        Hazard(
            "S017",
            "WRONG_DIRECTION",
            _I,
            (_INV,),
            "{bytes} of {buffer} crossed by a sync of the other direction: that works on x86 only",
            "sync to the device after host writes, from the device before host reads",
        ),
        Hazard(
            "S018",
            "SYNC_PAST_WINDOW",
            _E,
            _ALL,
            "a sync of a sub-buffer of {buffer} goes {bytes} past its end: XRT checks only the parent's",
            "sync no more than the sub-buffer's size at {current}",
        ),
        Hazard(
            "S019",
            "INSTRUCTIONS_MODIFIED",
            _E,
            _ALL,
            "the host changes the instruction buffer {buffer} while a run that executes it may be in flight",
            "wait for the run before the write at {current}",
        ),
        Hazard(
            "P101",
            "NEEDLESS_SYNC",
            _P,
            _CACHED,
            "this sync of {bytes} of {buffer} moves nothing: no line is dirty, no result waits",
            "leave out the sync at {current}",
        ),
        Hazard(
            "P102",
            "DOUBLE_SYNC",
            _P,
            _CACHED,
            "{bytes} of {buffer} are synced twice, and nothing happened between",
            "leave out the sync at {current}",
        ),
        Hazard(
            "P103",
            "SPARSE_SYNC",
            _P,
            _CACHED,
            "the whole of {buffer} is synced, of which less than a quarter needs it",
            "sync the range that was written: sync(direction, size, offset)",
        ),
        Hazard(
            "L001",
            "FREED_IN_FLIGHT",
            _E,
            _ALL,
            "{buffer} is freed while a run that uses it may still be in flight",
            "keep the buffer until wait() has returned",
        ),
        Hazard(
            "L003",
            "VIEW_OUTLIVES_BUFFER",
            _E,
            _ALL,
            "a view of {buffer} is still held, and its buffer is gone: pyxrt's map() keeps nothing alive",
            "keep the buffer as long as the view that was taken at {current}",
        ),
        Hazard(
            "L004",
            "NESTED_WINDOW",
            _E,
            _ALL,
            "a sub-buffer of a sub-buffer of {buffer}: XRT gives the device the address of other bytes",
            "make the sub-buffer from the root buffer, with the sum of the offsets",
        ),
        Hazard(
            "L002",
            "RUN_DROPPED",
            _E,
            _ALL,
            "{detail}: XRT from 2.23 on ends the process then, an earlier one lets the device go on",
            "keep the run until wait() has returned a final state",
        ),
        Hazard(
            "L005",
            "RUN_RESTARTED",
            _E,
            _ALL,
            "{detail}, while it may still be in flight",
            "wait for the run before it is started again at {current}",
        ),
        Hazard(
            "A001",
            "TOO_MANY_BUFFERS",
            _E,
            _ALL,
            "{detail}: XRT looks past its table and crashes",
            "bind no more buffers than the xclbin's kernel declares (`aiepipe dump` shows them)",
        ),
        Hazard(
            "A002",
            "GROUP_OF_SCALAR",
            _E,
            _ALL,
            "{detail}: a scalar has no memory group and takes no buffer",
            "ask for the group of a buffer argument: the index counts scalars, too",
        ),
        Hazard(
            "A003",
            "WRONG_BANK",
            _E,
            _ALL,
            "{detail}",
            "make each buffer with kernel.group_id(INDEX) of its own argument",
        ),
        Hazard(
            "A004",
            "NO_INSTRUCTIONS",
            _E,
            _ALL,
            "{detail}: the kernel does nothing, and the run completes",
            "bind the instruction buffer and its length as the kernel's first arguments",
        ),
        Hazard(
            "A005",
            "WRONG_VALUE",
            _E,
            _ALL,
            "{detail}",
            "pass a C-contiguous array to bo.write (numpy.ascontiguousarray), a buffer or a C int to set_arg",
        ),
        Hazard(
            "A006",
            "ARGUMENT_NEVER_SET",
            _E,
            _ALL,
            "{detail}: XRT reuses what an earlier run left in the command",
            "set every argument with run.set_arg before the start at {current}",
        ),
        Hazard(
            "D001",
            "NOTHING_WRITTEN",
            _W,
            _ALL,
            "{detail}",
            "check the instruction count and that each buffer is bound to its argument",
        ),
    )
}
"""The table by id."""
