"""Axes of a staged dispatch: which dimensions of its tensors and loops of its stages are the same one.

A loop that indexes a dimension belongs with it; so a result's rows are the rows of what they are made of,
through all stages. An axis can be cut into tiles when nothing asks for all of it at once: no reduction runs
along it, no index adds it to another, no tensor has it twice, and a result that goes to memory has it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from .stages import Staged, Use


@dataclass(frozen=True, slots=True)
class Axes:
    """`sizes` of the axes that can be tiled. `tensors[t][d]` and `loops[s][d]` are the axis of a tensor's
    dimension or a stage's loop, None where it is done as a whole."""

    sizes: tuple[int, ...]
    tensors: tuple[tuple[int | None, ...], ...]
    loops: tuple[tuple[int | None, ...], ...]


def axes_of(staged: Staged) -> Axes:
    """The axes, longest first."""
    groups = _Groups()
    for number, stage in enumerate(staged.stages):
        for use in (*stage.inputs, *stage.initial, *stage.results):
            if isinstance(use, Use) and not staged.tensors[use.tensor].resident:
                _join(groups, number, use)
        for loop, reduced in enumerate(stage.reduction):
            if reduced:
                groups.whole(("loop", number, loop))
    for number, tensor in enumerate(staged.tensors):
        roots = [groups.root(("tensor", number, d)) for d in range(len(tensor.shape))]
        for root in roots:
            if roots.count(root) > 1:
                groups.whole(root)
    sizes: dict[Hashable, int] = {}
    for store in staged.stores:
        for d, size in enumerate(staged.tensors[store.tensor].shape):
            root = groups.root(("tensor", store.tensor, d))
            if size > 1 and root not in groups.wholes:
                sizes[root] = size
    order = sorted(sizes, key=lambda root: -sizes[root])
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
    )


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
