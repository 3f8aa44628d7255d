"""The second agent: waits for the first one's work and answers it."""

from __future__ import annotations

from whisk.cli.demo.agent import Agent


def main() -> None:
    agent = Agent("reviewer")
    agent.next_mail("dispatch")
    work = agent.next_mail("handoff")
    agent.say(f"reads: {work['body'].splitlines()[0]}")
    agent.whisk("mail", "reply", work["id"], "-from", agent.run, "-type", "status", "-body", "Looks good to me.")
    agent.done("Reviewed the flag")


if __name__ == "__main__":
    main()
