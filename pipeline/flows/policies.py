"""`aiepipe policies`: the named sync policies."""

from __future__ import annotations

import json

from ..xrt.policy import POLICIES

SCHEMA = "aiepipe.policies/1"


def list_policies(*, as_json: bool) -> str:
    """Each policy with what it does and which project does so, as text or JSON."""
    policies = POLICIES.values()
    if as_json:
        rows = [{"name": p.name, "description": p.description, "seen_in": p.seen_in} for p in policies]
        return json.dumps({"schema": SCHEMA, "policies": rows}, indent=2) + "\n"
    return "".join(f"{p.name}\n    {p.description}\n    seen in: {p.seen_in}\n" for p in policies)
