"""Commands written once and shown everywhere: the runtime by itself, for any program.

```python
from whisk.commands import Command, CommandRuntime, ExecutionInput, PaletteProjection, Projections

runtime = CommandRuntime()
lease = runtime.contribute("editor", "file", [
    Command("file.save", "Save", "File", lambda input: {"saved": True},
            projections=Projections(palette=PaletteProjection())),
])
runtime.snapshot().palette[0].title            # 'Save'
runtime.execute("file.save", ExecutionInput("palette"))   # Handled(result={'saved': True})
lease.dispose()
```
"""

from whisk.commands.cancellation import Cancellation
from whisk.commands.catalog import (
    Catalog,
    CatalogCommand,
    DoneStep,
    Invocation,
    PromptStep,
    catalog_commands,
    parse_catalog,
    parse_step,
)
from whisk.commands.command import (
    AVAILABLE,
    HUMAN_ORIGINS,
    ORIGINS,
    Availability,
    Command,
    CommandHandler,
    ExecutionInput,
    Origin,
    unavailable,
)
from whisk.commands.failure import (
    CommandError,
    ContributionConflictError,
    ContributionError,
    InvalidContributionError,
    PromptCancelledError,
    RuntimeClosedError,
)
from whisk.commands.host import HostSnapshot, InteractionHost, OpenPrompt
from whisk.commands.interaction import Execution, Interaction, Presenter, Session
from whisk.commands.lease import Lease
from whisk.commands.outcome import Closed, ErrorInfo, Failed, Handled, Invalid, Missing, Outcome, Unavailable
from whisk.commands.projection import (
    Action,
    AgentProjection,
    BindingProjection,
    HelpProjection,
    MenuProjection,
    PaletteProjection,
    Presentation,
    Projections,
    SlashProjection,
)
from whisk.commands.prompt import (
    Choice,
    ChoiceAnswer,
    ChoicePrompt,
    ConfirmationAnswer,
    ConfirmationPrompt,
    HandoffNotice,
    InfoNotice,
    Notice,
    ProgressNotice,
    Prompt,
    SuccessNotice,
    TextAnswer,
    TextPrompt,
)
from whisk.commands.runtime import CommandRuntime
from whisk.commands.slash import SlashArguments, SlashText, SlashWord
from whisk.commands.snapshot import EMPTY, Snapshot, scope_snapshot

__all__ = [
    "AVAILABLE",
    "EMPTY",
    "HUMAN_ORIGINS",
    "ORIGINS",
    "Action",
    "AgentProjection",
    "Availability",
    "BindingProjection",
    "Cancellation",
    "Catalog",
    "CatalogCommand",
    "Choice",
    "ChoiceAnswer",
    "ChoicePrompt",
    "Closed",
    "Command",
    "CommandError",
    "CommandHandler",
    "CommandRuntime",
    "ConfirmationAnswer",
    "ConfirmationPrompt",
    "ContributionConflictError",
    "ContributionError",
    "DoneStep",
    "ErrorInfo",
    "Execution",
    "ExecutionInput",
    "Failed",
    "Handled",
    "HandoffNotice",
    "HelpProjection",
    "HostSnapshot",
    "InfoNotice",
    "Interaction",
    "InteractionHost",
    "Invalid",
    "InvalidContributionError",
    "Invocation",
    "Lease",
    "MenuProjection",
    "Missing",
    "Notice",
    "OpenPrompt",
    "Origin",
    "Outcome",
    "PaletteProjection",
    "Presentation",
    "Presenter",
    "ProgressNotice",
    "Projections",
    "Prompt",
    "PromptCancelledError",
    "PromptStep",
    "RuntimeClosedError",
    "Session",
    "SlashArguments",
    "SlashProjection",
    "SlashText",
    "SlashWord",
    "Snapshot",
    "SuccessNotice",
    "TextAnswer",
    "TextPrompt",
    "Unavailable",
    "catalog_commands",
    "parse_catalog",
    "parse_step",
    "scope_snapshot",
    "unavailable",
]
