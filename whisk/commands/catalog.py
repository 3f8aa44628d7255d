"""Catalogs: the commands that a backend advertises, as data only, and how they are run through its `invoke`.

A catalog says what its commands are and take, never how they are drawn. Each call of `invoke` is answered by a step:
`done`, or one more question with the whole arguments of the next call. So a backend keeps nothing between two calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from whisk.commands.command import Command, ExecutionInput, check_command
from whisk.commands.data import freeze, thaw
from whisk.commands.failure import CommandError
from whisk.commands.projection import Action, Projections
from whisk.commands.prompt import parse_notice, parse_prompt
from whisk.errors import InvalidError
from whisk.values import Record, check_text, convert, decode

VERSION: Literal["whistle.catalog/v1"] = "whistle.catalog/v1"
STEPS_LIMIT = 64
"""Questions that one execution may ask in a row; a backend that never comes to an end is cut off there."""
COMMANDS_LIMIT = 10_000


class CatalogAction(Record, frozen=True, forbid_unknown_fields=True):
    """Schemas only: a backend does not prescribe a form, a menu or any other rendering."""

    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None


class CatalogCommand(Record, frozen=True, forbid_unknown_fields=True):
    id: str
    title: str
    category: str
    description: str | None = None
    projections: Projections = Projections()
    action: CatalogAction | None = None


class Catalog(Record, frozen=True, forbid_unknown_fields=True):
    """`namespace` is where its commands' ids begin."""

    version: Literal["whistle.catalog/v1"]
    namespace: str
    commands: tuple[CatalogCommand, ...]


class Invocation(Record, frozen=True):
    """One call to the backend; `arguments` are complete."""

    command_id: str
    origin: str
    arguments: Any = None


class DoneStep(Record, frozen=True, tag_field="step", tag="done"):
    """It is over; the person is told `notice` when there is one."""

    notice: Any = None
    result: Any = None


class PromptStep(Record, frozen=True, tag_field="step", tag="prompt"):
    """Ask `prompt`, put the answer into `field` of `arguments`, and call again."""

    prompt: Any
    arguments: dict[str, Any]
    field: str


Step: TypeAlias = DoneStep | PromptStep
Invoke = Callable[[Invocation, ExecutionInput[Any]], Any]
"""Calls the backend and returns its step, as a record or as JSON; may return an awaitable of it."""


def parse_catalog(value: Any) -> Catalog:
    """A catalog from JSON text or its decoded value. Raises `InvalidError` with the place of whatever does not fit."""
    catalog = decode(value, Catalog) if isinstance(value, (str, bytes)) else convert(thaw(value), Catalog)
    check_text(catalog.namespace, "namespace", empty=False)
    if len(catalog.commands) > COMMANDS_LIMIT:
        raise InvalidError(f"a catalog has at most {COMMANDS_LIMIT} commands, not {len(catalog.commands)}")
    seen: set[str] = set()
    for index, command in enumerate(catalog.commands):
        # The same checks that the contribution will make, so that a catalog that parses is admitted.
        check_command(_command(command, _nobody), catalog.namespace, f"commands[{index}]")
        if command.id in seen:
            raise InvalidError(f"commands[{index}].id {command.id!r} is there twice", place=f"commands[{index}].id")
        seen.add(command.id)
    return catalog


def catalog_commands(catalog: Catalog, invoke: Invoke) -> tuple[Command[Any, Any], ...]:
    """The catalog's commands, whose handlers call `invoke` until it is done. Whether they are run by `execute` or by
    `execute_async` is as `invoke` is: one that returns awaitables needs the latter.
    """
    return tuple(_command(each, _handler(each.id, invoke)) for each in catalog.commands)


def parse_step(value: Any) -> Step:
    """A step from JSON text, its decoded value, or a record, with its prompt and notice parsed too."""
    plain = msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else value
    if isinstance(plain, (str, bytes)):
        step: Step = decode(plain, DoneStep | PromptStep)  # type: ignore[arg-type]
    else:
        step = convert(thaw(plain), DoneStep | PromptStep)  # type: ignore[arg-type]
    if isinstance(step, DoneStep):
        notice = None if step.notice is None else parse_notice(step.notice)
        return DoneStep(notice=notice, result=freeze(step.result, "result"))
    check_text(step.field, "field", empty=False)
    freeze(step.arguments, "arguments")
    return PromptStep(prompt=parse_prompt(step.prompt), arguments=step.arguments, field=step.field)


def _command(given: CatalogCommand, handler: Callable[[ExecutionInput[Any]], Any]) -> Command[Any, Any]:
    action = given.action
    return Command(
        id=given.id,
        title=given.title,
        category=given.category,
        handler=handler,
        description=given.description,
        projections=given.projections,
        action=Action(input_schema=action.input_schema, output_schema=action.output_schema) if action else None,
    )


def _handler(command_id: str, invoke: Invoke) -> Callable[[ExecutionInput[Any]], Any]:
    def handle(input: ExecutionInput[Any]) -> Any:
        flow = _Flow(command_id, input)
        reply = invoke(flow.call(input.arguments), input)
        if inspect.isawaitable(reply):
            return _go_on_async(flow, invoke, input, reply)
        while (step := flow.take(reply)) is not None:
            interaction = flow.need_interaction()
            reply = invoke(flow.call(_next(step, interaction.prompt(step.prompt))), input)
        return flow.result

    return handle


async def _go_on_async(flow: _Flow, invoke: Invoke, input: ExecutionInput[Any], reply: Awaitable[Any]) -> Any:
    while (step := flow.take(await reply)) is not None:
        interaction = flow.need_interaction()
        reply = invoke(flow.call(_next(step, await interaction.prompt_async(step.prompt))), input)
    return flow.result


class _Flow:
    """The steps of one execution."""

    def __init__(self, command_id: str, input: ExecutionInput[Any]) -> None:
        self._command_id = command_id
        self._input = input
        self._asked = 0
        self.result: Any = None

    def call(self, arguments: Any) -> Invocation:
        self._input.cancellation.check()
        return Invocation(command_id=self._command_id, origin=self._input.origin, arguments=thaw(arguments))

    def take(self, reply: Any) -> PromptStep | None:
        """The question to ask, or None when it is done."""
        try:
            step = parse_step(reply)
        except InvalidError as error:
            raise CommandError(
                "invalid_step", f"the backend of {self._command_id} answered with no step: {error.message}"
            ) from error
        if isinstance(step, DoneStep):
            if step.notice is not None and self._input.interaction is not None:
                self._input.interaction.notify(step.notice)
            self.result = step.result
            return None
        self._asked += 1
        if self._asked > STEPS_LIMIT:
            raise CommandError("too_many_steps", f"{self._command_id} asked more than {STEPS_LIMIT} questions")
        return step

    def need_interaction(self) -> Any:
        if self._input.interaction is None:
            raise CommandError("interaction_required", f"{self._command_id} has a question, and nobody can be asked")
        return self._input.interaction


def _next(step: PromptStep, answer: str | bool) -> Mapping[str, Any]:
    return {**step.arguments, step.field: answer}


def _nobody(_input: ExecutionInput[Any]) -> None:
    raise AssertionError("a catalog's command is checked here, not run")
