"""Which source this daemon was made from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import whisk
from whisk.http.api import Build


def this_build(env: Mapping[str, str]) -> Build:
    """`WHISK_GIT_SHA` when a packager set it, else what the checkout around the package says, else nothing."""
    return Build(version=whisk.__version__, git_sha=env.get("WHISK_GIT_SHA") or _checkout_sha())


def _checkout_sha() -> str:
    folder = Path(whisk.__file__).resolve().parents[1] / ".git"
    try:
        head = (folder / "HEAD").read_text("ascii").strip()
        if not head.startswith("ref: "):
            return head
        ref = head.removeprefix("ref: ")
        if (loose := folder / ref).exists():
            return loose.read_text("ascii").strip()
        lines = (folder / "packed-refs").read_text("ascii").splitlines()
        return next((line.split()[0] for line in lines if line.endswith(f" {ref}")), "")
    except (OSError, ValueError):
        return ""
