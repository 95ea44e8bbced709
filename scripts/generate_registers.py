"""Makes pipeline/npu/registers.json from the register facts (../shared/facts/npu1-registers.json).

The facts list each register once per instance; here instances become one row `[name, offset, fields]` or
`[name, offset, fields, count, stride]`, the modules of a tile become one address space, and registers that
play the same part get the same name on each kind of tile (a start queue is DMA_MM2S_START_QUEUE
everywhere, channel by channel). Fields are written "NAME:lowest bit:width". Run without arguments; a test
holds the committed file equal to what this makes.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any, cast

REPOSITORY = Path(__file__).resolve().parent.parent
FACTS = REPOSITORY.parent / "shared" / "facts" / "npu1-registers.json"
TARGET = REPOSITORY / "pipeline" / "npu" / "registers.json"

KINDS = {"compute": ("core", "memory"), "memory": ("memtile",), "shim": ("shim_noc", "shim_pl")}

# one name for one part, whatever the module calls it
RENAMES = (
    (r"^STREAM_SWITCH_MASTER_CONFIG_.*$", "STREAM_SWITCH_MASTER#"),
    (r"^STREAM_SWITCH_SLAVE_CONFIG_.*$", "STREAM_SWITCH_SLAVE#"),
    (r"^STREAM_SWITCH_SLAVE_.*_SLOT\d$", "STREAM_SWITCH_SLOT#"),
    (r"^DMA_(S2MM|MM2S)_(\d)_CTRL$", r"DMA_\1_CTRL#"),
    (r"^DMA_(S2MM|MM2S)_(\d)_(START|TASK)_QUEUE$", r"DMA_\1_START_QUEUE#"),
    (r"^(DMA_BD)\[n\]_(\d)$", r"\1_WORD_\2"),
    (r"^LOCK\[n\]_VALUE$", "LOCK_VALUE"),
    (r"^(TILE_)?CONTROL_PACKET_HANDLER_STATUS$", "CONTROL_PACKET_HANDLER_STATUS"),
)
KEEP_APART = re.compile(r"^DMA_BD_WORD_\d$")  # the words of one descriptor, not a row of equals

Fields = tuple[str, ...]
Row = tuple[str, int, Fields, int, int]


def main() -> None:
    """Writes the table."""
    facts = Path(sys.argv[1]) if len(sys.argv) > 1 else FACTS
    TARGET.write_text(generate(json.loads(facts.read_text(encoding="utf-8"))), encoding="utf-8")


def generate(facts: dict[str, Any]) -> str:
    """The text of registers.json."""
    parts: list[str] = []
    for kind, modules in KINDS.items():
        rows = sorted(_rows(facts, modules), key=lambda row: (row[1], row[0]))
        lines = [json.dumps(_compact(row)) for row in rows]
        parts.append(f'"{kind}": [\n' + ",\n".join(lines) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _compact(row: Row) -> list[str | int]:
    name, offset, fields, count, stride = row
    short: list[str | int] = [name, hex(offset), " ".join(fields)]
    return short if count == 1 else [*short, count, stride]


def _rows(facts: dict[str, Any], modules: tuple[str, ...]) -> list[Row]:
    by_module = {module: _grouped(_instances(facts, module)) for module in modules}
    seen: dict[str, int] = {}
    for rows in by_module.values():
        for row in rows:
            seen[row[0]] = seen.get(row[0], 0) + 1
    found: list[Row] = []
    for module, rows in by_module.items():
        for name, *rest in rows:
            unique = name if seen[name] == 1 else f"{module.upper()}_{name}"
            found.append(cast("Row", (unique, *rest)))
    return found


def _instances(facts: dict[str, Any], module: str) -> list[Row]:
    found: list[Row] = []
    for name, entry in facts["modules"][module].items():
        if name.startswith("RESERVED"):
            continue
        found.append(
            (
                name,
                entry["offset"],
                _fields(entry.get("fields", {})),
                entry.get("count", 1),
                entry.get("stride", 4),
            )
        )
    # the facts list the trace ports by offset only; their registers are like the other ports'
    likeness = {row[0].rstrip("0123456789"): row[2] for row in found}
    for name, offset in facts["offsets_only"].get(module, {}).items():
        fields: Fields = ()
        if name.startswith("STREAM_SWITCH_SLAVE_"):
            like = "CONFIG_SOUTH_" if "CONFIG" in name else "SOUTH_0_SLOT"
            fields = likeness["STREAM_SWITCH_SLAVE_" + like]
        found.append((name, offset, fields, 1, 4))
    return found


def _fields(entries: dict[str, list[int]]) -> Fields:
    """Fields as text, highest first; a run of single bits X_0, X_1, ... becomes one field X of all bits."""
    runs = {name: place for name, place in entries.items() if re.search(r"_\d+$", name)}
    stems = {re.sub(r"_\d+$", "", name) for name in runs}
    if len(runs) == len(entries) > 8 and len(stems) == 1 and all(width == 1 for _, width in runs.values()):
        return (f"{stems.pop()}:0:{len(runs)}",)
    return tuple(f"{name}:{low}:{width}" for name, (low, width) in entries.items())


def _grouped(instances: list[Row]) -> list[Row]:
    groups: dict[str, list[Row]] = {}
    for row in instances:
        groups.setdefault(_stem(row[0]), []).append(row)
    found: list[Row] = []
    for stem, members in groups.items():
        members.sort(key=lambda row: row[1])
        steps = {b[1] - a[1] for a, b in itertools.pairwise(members)}
        alike = len({(row[2], row[3]) for row in members}) == 1 and members[0][3] == 1
        if len(members) > 1 and len(steps) == 1 and alike:
            found.append((stem, members[0][1], members[0][2], len(members), steps.pop()))
        else:
            found.extend((_renamed(row[0]).rstrip("#"), *row[1:]) for row in members)
    return found


def _renamed(name: str) -> str:
    for pattern, replacement in RENAMES:
        name, done = re.subn(pattern, replacement, name)
        if done:
            break
    return name


def _stem(name: str) -> str:
    """The name that instances of one row share."""
    renamed = _renamed(name)
    if renamed.endswith("#"):
        return renamed[:-1]
    if KEEP_APART.match(renamed):
        return renamed
    return re.sub(r"_$", "", re.sub(r"\d+(?=$|_)", "", renamed, count=1)).replace("__", "_")


if __name__ == "__main__":
    main()
