"""What the sync experiment of `aiepipe sync-matrix` found, as the flow hands it to the reports."""

from __future__ import annotations

from dataclasses import dataclass, field

from .verdict import DeviceReport, InputReport, SyncFinding

OUTPUTS, INPUTS, POLICIES = "outputs", "inputs", "policies"
"""Groups of cells: what the host did to the outputs before the run, with their syncs on and off; the inputs'
sync off; the named policies that no other cell is."""


HARDWARE = "hardware"
"""In place of a coherency policy: the cache that is there."""


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One way to run the program, `runs` times.

    `output` is what the host does to the outputs before each run: "untouched", "zeroed", "poisoned".
    `outputs_to`, `outputs_from`, `inputs_to`: which syncs there are; for a named policy, what it says of
    them. `policy` is its name, if it has one. `wrong_runs` counts runs with wrong numbers and those that
    failed; `failure` is what the first of these said, after which the cell ended. `low` and `high` bound
    the rate (Wilson, 95 %). `predicted` is the rate that the cache model gives; None where it has no closed
    form, or on hardware. `findings` are the sanitizer's, of the first repeats.
    """

    group: str
    coherency: str
    output: str
    outputs_to: bool
    outputs_from: bool
    inputs_to: bool
    policy: str | None
    seed: int
    runs: int
    wrong_runs: int
    low: float
    high: float
    first_wrong_run: int | None = None
    failure: str | None = None
    predicted: float | None = None
    findings: tuple[SyncFinding, ...] = ()

    @property
    def rate(self) -> float:
        return self.wrong_runs / self.runs if self.runs else 0.0

    @property
    def hazards(self) -> tuple[str, ...]:
        """The ids of what was found and bites on this kind of cache, each once."""
        everywhere = self.coherency == HARDWARE
        return tuple(sorted({f.hazard for f in self.findings if everywhere or self.coherency in f.policies}))

    @property
    def title(self) -> str:
        """The cell in words: "poisoned, not synced to the device"."""
        if self.group == POLICIES:
            return str(self.policy)
        missing = [
            what
            for what, there in (
                ("outputs not synced to the device", self.outputs_to),
                ("outputs not synced from the device", self.outputs_from),
                ("inputs not synced to the device", self.inputs_to),
            )
            if not there
        ]
        return ", ".join([f"outputs {self.output}", *(missing or ["all synced"])])


@dataclass(frozen=True, slots=True)
class SyncMatrix:
    """The whole experiment. `evict` is the model's chance, None on hardware; `default_is_right` says that no
    run was wrong in the default cells; `conclusion` is one sentence; `repeat_with` the line that does it
    again."""

    file: str
    function: str
    device: DeviceReport
    runs: int
    seconds: float
    evict: float | None
    cells: tuple[MatrixCell, ...]
    default_is_right: bool
    conclusion: str
    inputs: tuple[InputReport, ...] = ()
    repeat_with: str = ""
    seeds: dict[str, int] = field(default_factory=dict[str, int])
    versions: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def coherencies(self) -> tuple[str, ...]:
        """The coherency policies, in order."""
        return tuple(dict.fromkeys(cell.coherency for cell in self.cells))

    @property
    def findings(self) -> tuple[SyncFinding, ...]:
        """What the sanitizer found in any cell, by hazard, buffer and place once."""
        found = {
            (f.hazard, f.buffer, f.current.site, f.prior and f.prior.site): f
            for cell in reversed(self.cells)
            for f in reversed(cell.findings)
        }
        return tuple(reversed(found.values()))
