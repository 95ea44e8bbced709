"""Axes of a staged dispatch: which dimensions of its tensors and loops of its stages are the same one.

A loop that indexes a dimension belongs with it; so a result's rows are the rows of what they are made of,
through all stages. An axis can be cut into tiles when nothing asks for all of it at once: no reduction runs
along it, no index adds it to another, no tensor has it twice, and a result that goes to memory has it.

Or it is streamed: reductions that may be done in parts run along it, and nothing that has it depends on them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from .stages import Staged, Use


@dataclass(frozen=True, slots=True)
class Axes:
    """`sizes` of the axes that can be tiled. `tensors[t][d]` and `loops[s][d]` are the axis of a tensor's
    dimension or a stage's loop, None where it is done as a whole. The last `streamed` ones are streamed."""

    sizes: tuple[int, ...]
    tensors: tuple[tuple[int | None, ...], ...]
    loops: tuple[tuple[int | None, ...], ...]
    streamed: int = 0

    @property
    def streamed_axes(self) -> range:
        """Their numbers."""
        return range(len(self.sizes) - self.streamed, len(self.sizes))


def axes_of(staged: Staged) -> Axes:
    """The axes, longest first."""
    groups = _Groups()
    for number, stage in enumerate(staged.stages):
        for use in (*stage.inputs, *stage.initial, *stage.results):
            if isinstance(use, Use) and not staged.tensors[use.tensor].resident:
                _join(groups, number, use)
    for number, tensor in enumerate(staged.tensors):
        roots = [groups.root(("tensor", number, d)) for d in range(len(tensor.shape))]
        for root in roots:
            if roots.count(root) > 1:
                groups.whole(root)
    streamed = _streamed(staged, groups)
    for number, stage in enumerate(staged.stages):
        for loop, reduced in enumerate(stage.reduction):
            if reduced and groups.root(("loop", number, loop)) not in streamed:
                groups.whole(("loop", number, loop))
    sizes: dict[Hashable, int] = {}
    for store in staged.stores:
        for d, size in enumerate(staged.tensors[store.tensor].shape):
            root = groups.root(("tensor", store.tensor, d))
            if size > 1 and root not in groups.wholes:
                sizes[root] = size
    order = sorted(sizes, key=lambda root: -sizes[root])
    order += sorted(streamed, key=lambda root: -streamed[root])
    sizes |= streamed
    return Axes(
        tuple(sizes[root] for root in order),
        tuple(
            tuple(_number(groups, order, ("tensor", t, d)) for d in range(len(tensor.shape)))
            for t, tensor in enumerate(staged.tensors)
        ),
        tuple(
            tuple(_number(groups, order, ("loop", s, d)) for d in range(len(stage.loops)))
            for s, stage in enumerate(staged.stages)
        ),
        len(streamed),
    )


def _streamed(staged: Staged, groups: _Groups) -> dict[Hashable, int]:
    """Sizes of the axes along which all stages that carry on sums do so; none where that is not possible."""
    places = [("tensor", t, d) for t, tensor in enumerate(staged.tensors) for d in range(len(tensor.shape))]
    moved = {groups.root(place) for place in places} - groups.wholes
    stored = {store.tensor for store in staged.stores}
    moved -= {groups.root(place) for place in places if place[1] in stored}
    found: dict[Hashable, int] = {}
    summed: set[int] = set()
    for number, stage in enumerate(staged.stages):
        roots = [groups.root(("loop", number, loop)) for loop in range(len(stage.loops))]
        along = {
            root: size
            for root, size, reduced in zip(roots, stage.loops, stage.reduction, strict=True)
            if reduced and size > 1 and stage.carries and root in moved
        }
        depends = any(
            isinstance(use, Use) and use.tensor in summed for use in (*stage.inputs, *stage.initial)
        )
        if along and found and along != found:
            return {}
        found = found or along
        if depends and not found.keys().isdisjoint(roots):
            return {}
        if depends or along:
            summed |= {result.tensor for result in stage.results}
    return found


def _join(groups: _Groups, stage: int, use: Use) -> None:
    for d, index in enumerate(use.map):
        if index.dim is None:
            groups.whole(("tensor", use.tensor, d))
        else:
            groups.join(("tensor", use.tensor, d), ("loop", stage, index.dim))


def _number(groups: _Groups, order: list[Hashable], node: Hashable) -> int | None:
    root = groups.root(node)
    return order.index(root) if root in order else None


class _Groups:
    """Union of nodes, some of which are to be done as a whole."""

    def __init__(self) -> None:
        self._parents: dict[Hashable, Hashable] = {}
        self._wholes: set[Hashable] = set()

    @property
    def wholes(self) -> set[Hashable]:
        return {self.root(node) for node in self._wholes}

    def root(self, node: Hashable) -> Hashable:
        while node in self._parents:
            node = self._parents[node]
        return node

    def join(self, one: Hashable, other: Hashable) -> None:
        one, other = self.root(one), self.root(other)
        if one != other:
            self._parents[one] = other

    def whole(self, node: Hashable) -> None:
        self._wholes.add(node)
