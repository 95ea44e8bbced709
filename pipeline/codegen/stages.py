"""A dispatch as stages: loop nests over tensors, one after the other, freed from MLIR.

`staging.py` makes these from any dispatch whose ops are loads, stores and linalg ops with lowerable bodies;
axes, tiles, programs and control code of the general scalar path know nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..program import AffineResult, SourceLocation
from .expressions.bodies import BodyGraph
from .problem import View

Map = tuple[AffineResult, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value of the dispatch. `view` is where it comes from: a buffer, or bytes of the dispatch; None
    where a stage computes it."""

    shape: tuple[int, ...]
    element: str
    element_bytes: int
    view: View | None = None

    @property
    def loaded(self) -> bool:
        """Whether it comes from a buffer."""
        return self.view is not None and self.view.binding is not None

    @property
    def resident(self) -> bool:
        """Whether it is a constant that stands in the core's memory from the start."""
        return self.view is not None and self.view.data is not None


@dataclass(frozen=True, slots=True)
class Use:
    """A stage's access to a tensor: one index per dimension of it, in terms of the stage's loops."""

    tensor: int
    map: Map


@dataclass(frozen=True, slots=True)
class Stage:
    """One linalg op. Arguments of its body: the `inputs`, then the values so far of the `results` (one per
    result), which begin as `initial`: a tensor, the bytes of one element, or None where they are not read.
    `carries`: its reductions may be done in parts (streaming.py); `initial` and `results` are then tensors of
    one form each.
    """

    op: str
    location: SourceLocation
    loops: tuple[int, ...]
    reduction: tuple[bool, ...]
    inputs: tuple[Use | bytes | None, ...]
    initial: tuple[Use | bytes | None, ...]
    results: tuple[Use, ...]
    body: BodyGraph
    carries: bool = False


@dataclass(frozen=True, slots=True)
class Store:
    """`tensor` goes to `view`, a part of a buffer."""

    tensor: int
    view: View


@dataclass(frozen=True, slots=True)
class Staged:
    """The dispatch. Stages stand in the order in which they are computed; `tensors` by number."""

    name: str
    location: SourceLocation
    tensors: tuple[Tensor, ...]
    stages: tuple[Stage, ...]
    stores: tuple[Store, ...]


def without_unused_tensors(staged: Staged) -> Staged:
    """With the tensors that a stage or store has, which are all that take room in a core, numbered anew."""
    uses = [use for stage in staged.stages for use in (*stage.inputs, *stage.initial, *stage.results)]
    used = {use.tensor for use in uses if isinstance(use, Use)} | {store.tensor for store in staged.stores}
    numbers = {old: new for new, old in enumerate(sorted(used))}

    def renumbered(uses: Sequence[Use | bytes | None]) -> tuple[Use | bytes | None, ...]:
        return tuple(replace(u, tensor=numbers[u.tensor]) if isinstance(u, Use) else u for u in uses)

    return replace(
        staged,
        tensors=tuple(staged.tensors[old] for old in numbers),
        stages=tuple(
            replace(
                stage,
                inputs=renumbered(stage.inputs),
                initial=renumbered(stage.initial),
                results=tuple(replace(use, tensor=numbers[use.tensor]) for use in stage.results),
            )
            for stage in staged.stages
        ),
        stores=tuple(replace(store, tensor=numbers[store.tensor]) for store in staged.stores),
    )
