"""What the scripted agents share: calling `$WHISK_CLI`, as any agent would, and saying what they do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

WAIT = "30s"


class Agent:
    """An agent in its terminal; everything it knows comes from its environment."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.run = f"run:{os.environ['WHISK_RUN_ID']}"
        self.project = f"project:{os.environ['WHISK_PROJECT_ID']}"

    def say(self, text: str) -> None:
        print(f"{self.name}: {text}", flush=True)

    def whisk(self, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            [os.environ["WHISK_CLI"], *arguments], input=stdin, stdout=subprocess.PIPE, text=True, check=False
        )  # fmt: skip
        if done.returncode != 0:
            self.say(f"failed: whisk {' '.join(arguments)}: exit {done.returncode}")
            sys.exit(1)
        return done.stdout

    def next_mail(self, kind: str) -> dict[str, Any]:
        """Wait for a message of this type to this run, and take it."""
        reply = json.loads(
            self.whisk("mail", "check", "-to", self.run, "-types", kind, "-wait", "-timeout", WAIT, "-ack", "-json")
        )
        if "message" not in reply:
            self.say(f"failed: no {kind} came within {WAIT}")
            sys.exit(1)
        message: dict[str, Any] = reply["message"]
        sender = message["from"]
        self.say(f"took {kind} {message['subject']!r} from {sender['kind']}:{sender['id']}")
        return message

    def done(self, result: str) -> None:
        """Report from the run's own address, which completes the run."""
        self.whisk(
            "mail", "send", "-from", self.run, "-to", self.project, "-type", "worker_done", "-subject", result
        )  # fmt: skip
        self.say("done")
