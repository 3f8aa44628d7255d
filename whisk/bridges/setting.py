"""How long a person has, and what happens when nobody answers: always before the agent's own hook limit."""

from __future__ import annotations

from typing import Literal

from whisk.errors import InvalidError
from whisk.hooks.provider import PROVIDERS, find_provider
from whisk.values import Record

After = Literal["ask", "deny", "default", "never"]

FIRST_OPTION = "@first"


class PromptSettings(Record, frozen=True):
    """Times are seconds.

    `limit` is how long a prompt waits; None waits as long as the agent's hook may run. Then, by `after`:

    * `ask`: the hook says nothing (or asks the agent to ask), and the agent's own window opens;
    * `deny`: the call is denied, in words that say nobody answered;
    * `default`: `default_answer` is given, `@first` standing for each question's first option, `allow` or `deny` for an
      approval; where it does not fit, `ask`;
    * `never`: `limit` does not count; only the agent's hook limit ends the wait, as `ask`.

    `hook_limits` names the hook time-out in an agent's settings where it is not the agent's usual one. A prompt ends
    `margin` seconds before it at the latest. A hook that hangs up has `detach_grace` to come back (its connection may
    have broken), and `orphan_grace` after a restart of the daemon.
    """

    limit: float | None = None
    after: After = "ask"
    default_answer: str = ""
    hook_limits: dict[str, float] = {}
    margin: float = 10.0
    detach_grace: float = 1.0
    orphan_grace: float = 15.0

    def __post_init__(self) -> None:
        if self.margin < 1.0:
            raise InvalidError("the margin before the hook limit must be at least 1 s", margin=self.margin)
        if self.limit is not None and self.limit <= 0:
            raise InvalidError("the prompt limit must be more than 0 s", limit=self.limit)
        if min(self.detach_grace, self.orphan_grace) < 0:
            raise InvalidError("a grace cannot be negative")
        if self.after == "default" and not self.default_answer.strip():
            raise InvalidError("after = default needs a default answer")
        for name in {*PROVIDERS, *self.hook_limits}:
            self._check_provider(name)

    def _check_provider(self, name: str) -> None:
        most = self.hook_limit(name) - self.margin
        if most <= 0:
            raise InvalidError(
                f"the hook limit of {name}, {self.hook_limit(name):g} s, leaves no time before its margin of "
                f"{self.margin:g} s",
                provider=name,
            )
        if self.limit is not None and self.after != "never" and self.limit > most:
            raise InvalidError(
                f"a prompt limit of {self.limit:g} s would outlast {name}'s hook limit of {self.hook_limit(name):g} s; "
                f"at most {most:g} s fit, or raise the hook limit",
                provider=name,
                limit=self.limit,
                most=most,
            )

    def hook_limit(self, provider: str) -> float:
        return self.hook_limits.get(provider, find_provider(provider).hook_limit)

    def wait(self, provider: str) -> float:
        """Seconds that a prompt of this agent waits for a person."""
        most = self.hook_limit(provider) - self.margin
        return most if self.limit is None or self.after == "never" else self.limit
