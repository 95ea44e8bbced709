"""Sync policies as data: which buffers are synced, which way, when.

The default is the correct one. The others are what real host programs do; each says what it leaves out
and where it was seen, so that a run can be repeated under it and its failure recognised.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import UsageError


class Which(enum.Enum):
    """Which of a dispatch's outputs, in the order of its bindings."""

    ALL = "all"
    LAST = "last"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SyncPolicy:
    """What the runner syncs.

    To the device, after the host has written and before a start: `inputs` (bindings that are read only),
    `inouts` (read and written), `outputs_to` (written only, so poison or old contents), `instructions`.
    From the device, after a run: `outputs_from` (all that it wrote). `resync`: inputs and inouts that are
    written again for a later repeat are synced again. `host_commands`: the host's own fills and copies
    sync what they read and wrote. `seen_in` says which project does so.
    """

    name: str
    description: str
    inputs: bool = True
    inouts: bool = True
    outputs_to: Which = Which.ALL
    instructions: bool = True
    outputs_from: Which = Which.ALL
    resync: bool = True
    host_commands: bool = True
    seen_in: str = ""


DEFAULT = SyncPolicy(
    "default",
    "every buffer to the device before a run, every output from the device after it",
    seen_in="mlir-aie's XRTTensor; mlir-air",
)

POLICIES: Mapping[str, SyncPolicy] = {
    policy.name: policy
    for policy in (
        DEFAULT,
        SyncPolicy(
            "no-output-presync",
            "outputs that the host has written are not synced before the run: the seed bug "
            "(dirty lines are written back over the device's result)",
            outputs_to=Which.NONE,
            seen_in="iree-amd-aie #209; XDNA shim tests, which never write their outputs",
        ),
        SyncPolicy(
            "inputs-only",
            "only what the kernel just reads is synced before the run, not outputs or read-write buffers",
            inouts=False,
            outputs_to=Which.NONE,
            seen_in="Allo's AIE back end",
        ),
        SyncPolicy(
            "last-output-presync",
            "of the outputs only the last is synced before the run",
            outputs_to=Which.LAST,
            seen_in="the patch proposed in iree-amd-aie #209",
        ),
        SyncPolicy(
            "last-output-only",
            "of the outputs only the last is synced back after the run",
            outputs_from=Which.LAST,
            seen_in="Triton-XDNA's driver",
        ),
        SyncPolicy(
            "no-output-readback",
            "no output is synced back after the run",
            outputs_from=Which.NONE,
            seen_in="iree-amd-aie #640",
        ),
        SyncPolicy(
            "no-input-resync",
            "inputs are synced before the first run only, though the host writes them again",
            resync=False,
            seen_in="amd/IRON #181 (a write past the coherence map)",
        ),
        SyncPolicy(
            "no-input-presync",
            "inputs and read-write buffers are not synced before the run",
            inputs=False,
            inouts=False,
            seen_in="iree-amd-aie #60",
        ),
        SyncPolicy(
            "no-instruction-sync",
            "the instruction stream is not synced before the run",
            instructions=False,
            seen_in="iree-amd-aie #99",
        ),
        SyncPolicy(
            "no-host-command-sync",
            "the host's fills and copies are not synced, neither what they read nor what they wrote",
            host_commands=False,
            seen_in="IREE's amdxdna HAL before #1405 and #1412",
        ),
        SyncPolicy(
            "none",
            "nothing is synced",
            inputs=False,
            inouts=False,
            outputs_to=Which.NONE,
            instructions=False,
            outputs_from=Which.NONE,
            resync=False,
            host_commands=False,
        ),
    )
}
"""All named policies, the correct one first."""


def named(name: str) -> SyncPolicy:
    """The policy of that name. Raises UsageError."""
    policy = POLICIES.get(name)
    if policy is None:
        raise UsageError(
            f"no sync policy is called '{name}'",
            remedy=f"one of: {', '.join(POLICIES)}",
        )
    return policy
