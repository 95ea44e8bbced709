"""Host memory that knows which of its fresh pages were stored to, whatever the value.

A program that clears a new output buffer stores zeros over zeros: no comparison sees that, and yet it is
the seed bug, for the lines are dirty. The kernel knows: a private anonymous page that was never stored to
is either absent or the shared zero page. It is read from /proc/self/pagemap (bit 63: present, bit 56:
mapped by this process alone; Documentation/admin-guide/mm/pagemap.rst). Where that file cannot be read
there is just no such knowledge.
"""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

PAGE_BYTES = mmap.PAGESIZE

_PRESENT_ALONE = np.uint64(1 << 63 | 1 << 56)


class FreshPages:
    """`size_bytes` of zeros, page aligned, as `bytes`.

    `note` says that this program's own model stored to a range; `stored` tells in which pages somebody
    else has stored since they were fresh, each page once.
    """

    def __init__(self, size_bytes: int) -> None:
        area = mmap.mmap(-1, max(size_bytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        # a huge page would make 2 MiB present at the first store
        area.madvise(mmap.MADV_NOHUGEPAGE)
        self.bytes: Bytes = np.frombuffer(area, np.uint8)[:size_bytes]
        self._fresh = np.ones(-(-max(size_bytes, 1) // PAGE_BYTES), np.bool_)
        self._any = True

    def note(self, offset: int, length: int) -> None:
        """The model itself stores to this range: its pages are fresh no more."""
        if self._any and length:
            self._fresh[offset // PAGE_BYTES : (offset + length - 1) // PAGE_BYTES + 1] = False
            self._any = bool(self._fresh.any())

    def stored(self) -> list[int]:
        """Offsets of pages that were fresh and have been stored to."""
        if not self._any:
            return []
        present = _present_alone(self.bytes.ctypes.data // PAGE_BYTES, self._fresh.size)
        if present is None:
            return []
        found = np.flatnonzero(present & self._fresh)
        self._fresh[found] = False
        self._any = bool(self._fresh.any())
        return [int(page) * PAGE_BYTES for page in found]


def _present_alone(first_page: int, count: int) -> npt.NDArray[np.bool_] | None:
    """For each page whether it is present and mapped by this process alone; None where unknown."""
    try:
        with open("/proc/self/pagemap", "rb", buffering=0) as file:
            file.seek(first_page * 8)
            raw = file.read(count * 8)
    except OSError:
        return None
    if len(raw) != count * 8:
        return None
    return np.frombuffer(raw, np.uint64) & _PRESENT_ALONE == _PRESENT_ALONE
