"""The first agent: takes the task, asks the person as Claude Code would, and hands the work over."""

from __future__ import annotations

import json

from whisk.cli.demo.agent import Agent
from whisk.cli.demo.question import QUESTION, hook_payload


def main() -> None:
    agent = Agent("builder")
    task = agent.next_mail("dispatch")
    agent.say(f"asks: {QUESTION}")
    printed = agent.whisk("agent-bridge", "hook", stdin=hook_payload())
    print(printed.strip(), flush=True)
    answer = json.loads(printed)["hookSpecificOutput"]["updatedInput"]["answers"][QUESTION]
    agent.say(f"was told: {answer}")
    agent.whisk(
        "mail", "send", "-from", agent.run, "-to", task["payload"]["reviewer"], "-type", "handoff",
        "-subject", "Please review", "-body", f"- the flag prints {answer}\n- tests pass",
    )  # fmt: skip
    agent.next_mail("status")
    agent.done(f"Added the flag; it prints {answer}")


if __name__ == "__main__":
    main()
