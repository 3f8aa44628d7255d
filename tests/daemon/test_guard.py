"""The guard of docker/, run here without a container."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_persons_answer_reaches_claude_in_the_exact_bytes(tmp_path: Path) -> None:
    whisk = tmp_path / "whisk"
    whisk.write_text(f'#!/bin/sh\nexec {sys.executable} -m whisk.cli.main "$@"\n')
    whisk.chmod(0o755)
    done = subprocess.run(
        [sys.executable, ROOT / "docker" / "guard.py", "--whisk", whisk],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("guard: passed\n")
