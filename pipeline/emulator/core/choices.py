"""Choices by a value that is in a register: a compiled case for each key that seems possible.

What is possible is read off the program: numbers that it puts into that register, and keys that were met
before. For any other key the block is left, and the plain engine does the bundle and tells which key it
was. A case is a function of its own, as the same ones come again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from ...isa.semantics.registers import CONTROL_REGISTERS
from ...isa.semantics.value import Type, Value
from .llvm_operations import compute as emit
from .llvm_text import Lines, Names, Operand, constant_operand, literal, llvm_type
from .operations import as_lanes, chosen, compute
from .places import Surroundings
from .state import PlainValue

MAX_CASES = 8
"""Cases that are compiled for one choice."""
_MAX_KEYS = 64


def choose(
    around: Surroundings,
    w: Lines,
    node: Value,
    key: Operand,
    args: list[Operand],
    side_exit: Callable[[], None],
) -> Operand:
    """A `choose` node; `side_exit` emits the way out of the block before the current bundle."""
    choice = node.choice
    assert choice is not None
    if key.number is not None and choice.accepts(key.number):
        return _case(around.names, w, node, key.number, args)
    done, other = w.names.fresh("chosen"), w.names.fresh("other")
    keys = _keys(around, node)
    labels = [w.names.fresh("case") for _ in keys]
    cases = " ".join(
        f"{llvm_type(key.type)} {literal(key.type, k).text}, label %{label}"
        for k, label in zip(keys, labels, strict=True)
    )
    w.line(f"switch {key.typed}, label %{other} [ {cases} ]")
    arms: list[tuple[Operand, str]] = []
    for k, label in zip(keys, labels, strict=True):
        w.label(label)
        arms.append((_case(around.names, w, node, k, args), label))
        w.line(f"br label %{done}")
    w.label(other)
    side_exit()
    w.label(done)
    if not arms:
        return Operand(node.type, "poison")
    incoming = ", ".join(f"[ {value.text}, %{label} ]" for value, label in arms)
    return w.assign(node.type, f"phi {llvm_type(node.type)} {incoming}")


def _case(names: Names, w: Lines, node: Value, key: int, args: list[Operand]) -> Operand:
    assert node.choice is not None
    types = tuple(a.type for a in args)
    name = f'"{node.choice.name} {key} {" ".join(map(str, types))}"'
    if name not in names.functions:
        names.functions[name] = _function(names, name, node, key, types)
    arguments = ", ".join(a.typed for a in args)
    return w.assign(node.type, f"call fastcc {llvm_type(node.type)} @{name}({arguments})")


def _function(names: Names, name: str, node: Value, key: int, types: tuple[Type, ...]) -> list[str]:
    assert node.choice is not None
    graph, leaves = chosen(node.choice, key, node.type, types)
    lines = Lines(names)
    environment = {leaf: Operand(leaf.type, f"%a{number}") for number, leaf in enumerate(leaves)}
    stack = [graph]
    while stack:
        current = stack[-1]
        missing = [a for a in current.args if a not in environment]
        if current in environment:
            stack.pop()
        elif missing:
            stack.extend(missing)
        elif current.name == "constant":
            environment[current] = constant_operand(current)
        else:
            environment[current] = emit(lines, current, [environment[a] for a in current.args])
    parameters = ", ".join(environment[leaf].typed for leaf in leaves)
    head = f"define internal fastcc {llvm_type(node.type)} @{name}({parameters}) noinline nounwind {{"
    return [head, *lines.lines, f"  ret {environment[graph].typed}", "}"]


def _keys(around: Surroundings, node: Value) -> list[int]:
    """Keys worth compiling, those met before first."""
    choice = node.choice
    assert choice is not None
    found = sorted(around.learned.get(choice.name, ()))
    for value in sorted(as_lanes(v)[0] for v in _possible(around, node.args[0])):
        if value not in found and choice.expects(value):
            found.append(value)
    return [value for value in found if choice.accepts(value)][:MAX_CASES]


def _possible(around: Surroundings, node: Value) -> set[PlainValue]:
    """Values that a node may have, from the constants that its registers are given."""
    if node.name == "constant":
        return {node.numbers[0]}
    if node.name == "read":
        assert node.read is not None
        name, found = node.read.register, around.survey
        known = set(found.constants.get(name, ()))
        for source in found.copies.get(name, ()):
            known |= found.constants.get(source, set())
        return set(known | ({0} if name in CONTROL_REGISTERS else set()))
    results: set[PlainValue] = set()
    for args in product(*(_possible(around, a) for a in node.args)):
        results.add(compute(node, list(args)))
        if len(results) >= _MAX_KEYS:
            break
    return results
