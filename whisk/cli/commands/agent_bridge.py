"""`whisk agent-bridge hook`: the help of the hook relay. Calls of it never come here, see `whisk.cli.main`."""

from __future__ import annotations

from whisk.cli import relay
from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.context import Context


def hook(context: Context, args: Arguments) -> int:
    return relay.main([])


HOOK = Command(
    words="agent-bridge hook",
    usage="""
Usage:
  whisk agent-bridge hook [options]

Called by an agent's hooks. It reads their JSON on stdin, lets a person or a rule decide where the event waits for a
decision, and prints what the agent should be told, or nothing. If whiskd cannot be reached it prints nothing and ends
with 0, so that the agent goes on by itself; with WHISK_AGENT_BRIDGE_FAIL=closed it then refuses decisions instead.

Options:
  --bridge=<id>           The bridge of this terminal; else $WHISK_AGENT_BRIDGE_ID.
  --token=<token>         Its token; else $WHISK_AGENT_BRIDGE_TOKEN. Without both, events are only logged.
  --provider=<name>       claude or codex; else $WHISK_AGENT_BRIDGE_PROVIDER.
  --event=<name>          The event, where the payload does not say.
  --hook-protocol=<n>     The version of this interface; else $WHISK_AGENT_BRIDGE_HOOK_PROTOCOL.

Examples:
  whisk agent-bridge hook -provider claude < payload.json
""",
    run=hook,
    common=("url",),
)
