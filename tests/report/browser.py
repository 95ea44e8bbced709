"""Headless Chromium for tests of pages: a script that acts as a user, axe-core, screenshots.

The page runs with the test's script appended, which leaves what it saw in the document. Tests skip where
there is no Chromium. axe-core comes with the package axe-core-python of the test extra, or AIEPIPE_AXE
names an axe.min.js.
"""

from __future__ import annotations

import html
import importlib.util
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_COMMAND = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1200,2000",
)  # fmt: skip


def browse(page: str, tmp_path: Path, script: str, *options: str) -> tuple[str, str]:
    """What the script left, and the browser's console."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    # the test's script must come after the page's own
    leave = "document.title = 'left:' + JSON.stringify(out);"
    acting = page.replace("</body>", f"<script>(async () => {{{script}{leave}}})()</script></body>")
    path = tmp_path / "page.html"
    path.write_text(acting, encoding="utf-8")
    command = [
        CHROMIUM, *_COMMAND, f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr",
        "--virtual-time-budget=8000", *options, "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    console = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None
    return title[1], console


def serious_issues(page: str, tmp_path: Path, *, dark: bool) -> list[str]:
    """What axe-core finds serious or critical, with all folded parts open."""
    script = "document.documentElement.dataset.theme = '%s';" % ("dark" if dark else "light")
    script += (
        "document.querySelectorAll('details').forEach((d) => { d.open = true; });"
        "const found = await axe.run(document);"
        "const out = {rules: found.passes.length, issues: found.violations"
        ".filter((v) => ['serious', 'critical'].includes(v.impact))"
        ".map((v) => v.id + ': ' + v.nodes[0].html)};"
    )
    axe = _axe().read_text(encoding="utf-8").replace("</script", "<\\/script")
    left, _ = browse(page.replace("</head>", f"<script>{axe}</script></head>"), tmp_path, script)
    found: dict[str, Any] = json.loads(html.unescape(left).removeprefix("left:"))
    assert found["rules"] > 10  # it did look
    return found["issues"]


def screenshot(page: str, tmp_path: Path, place: str, *options: str) -> bytes:
    """A PNG of the page at `place` ("#case0")."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    path, picture = tmp_path / "shot.html", tmp_path / "shot.png"
    path.write_text(page, encoding="utf-8")
    command = [*_COMMAND, f"--user-data-dir={tmp_path / 'shots'}", f"--screenshot={picture}", *options]
    subprocess.run([CHROMIUM, *command, path.as_uri() + place], capture_output=True, timeout=120, check=True)
    return picture.read_bytes()


def _axe() -> Path:
    named = os.environ.get("AIEPIPE_AXE")
    if named is not None:
        return Path(named)
    found = importlib.util.find_spec("axe_core_python")
    if found is None or found.origin is None:
        pytest.skip("no axe-core-python here")
    return Path(found.origin).with_name("axe.min.js")
