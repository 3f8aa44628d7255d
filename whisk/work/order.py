"""From what was asked for to the exact process: options, profile and context become a `PtySpec`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from whisk.errors import InvalidError, TooLargeError
from whisk.profiles.launch import launch
from whisk.profiles.login_shell import through_login_shell
from whisk.profiles.profile import PLAIN_SHELL, Profile, find
from whisk.terminal import keys
from whisk.terminal.environment import PtyContext, build_environment
from whisk.terminal.pty import PtySpec, check_size
from whisk.values import Record
from whisk.work.session import Pane, Session
from whisk.work.start import BridgeCredentials, LaunchContext, StartPtyOptions, check_start


class Callback(Record, frozen=True):
    """How a child finds back: the daemon's URL, the CLI's absolute path, the folder with the control token."""

    url: str
    cli: str
    state_dir: str


class Order(Record, frozen=True):
    """What will be started, before it has a terminal. `hooks` names the provider whose hooks get credentials, `given`
    is what the request adds to the environment.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    typed: str
    cols: int
    rows: int
    given: dict[str, str]
    hooks: str | None = None
    profile_id: str | None = None


def place_order(options: StartPtyOptions, profiles: Iterable[Profile], environ: Mapping[str, str]) -> Order:
    """Check everything that can be known before a process is started. Raises refusals that name the field.

    An agent gets credentials for its hooks unless the options say otherwise; a shell only when they ask for it.
    """
    check_start(options)
    check_size(options.cols, options.rows)
    profile = find(profiles, options.agent_profile_id) if options.agent_profile_id else None
    if profile is not None:
        started = launch(profile, options.prompt, options.system_prompt, {**environ, **options.env})
        argv, env, typed = started.argv, started.env, started.typed
    elif options.exec:
        argv, env, typed = (options.command, *options.args), {}, ""
    else:
        shell = options.env.get("SHELL") or environ.get("SHELL") or "sh"
        argv, env, typed = (shell,), {}, f"{options.command}\n" if options.command else ""
    _check_typed(typed)
    return Order(
        argv=argv,
        env=env,
        typed=keys.typed(typed).decode(),
        cols=options.cols,
        rows=options.rows,
        given=options.env,
        hooks=_hooks(options, profile),
        profile_id=profile.id if profile is not None else None,
    )


def _check_typed(text: str) -> None:
    """A program that has just started still has its terminal in line mode: half a command would be run as if whole."""
    longest = keys.longest_line(text.encode("utf-8", "replace"))
    if longest > keys.LINE_BYTES:
        raise TooLargeError(
            f"a line of {longest} bytes cannot be typed: the terminal would keep {keys.LINE_BYTES} of them;"
            " give the program with exec, or put the command into a file",
            limit=keys.LINE_BYTES,
            size=longest,
        )


def _hooks(options: StartPtyOptions, profile: Profile | None) -> str | None:
    usual = profile.info.hook_provider if profile is not None else None
    if options.agent_bridge is None:
        return usual
    if not options.agent_bridge.enabled:
        return None
    provider = options.agent_bridge.provider or usual
    if not provider:
        raise InvalidError("an agent bridge needs a provider", field="agentBridge.provider")
    return provider


def pty_spec(
    order: Order,
    session: Session,
    pane: Pane,
    pty_id: str,
    context: LaunchContext,
    callback: Callback,
    environ: Mapping[str, str],
    bridge: BridgeCredentials | None,
) -> PtySpec:
    """The terminal of `order` in `pane`. A run that is named in `context` is told when the terminal ends."""
    told = PtyContext(
        whiskd_url=callback.url,
        cli=callback.cli,
        state_dir=callback.state_dir,
        session_id=session.id,
        pty_id=pty_id,
        project_id=context.project_id,
        project_root=context.project_root,
        work_item_id=context.work_item_id,
        run_id=context.run_id,
        actor=context.actor,
        profile=context.agent_profile_id or order.profile_id,
        bridge_id=bridge.bridge_id if bridge is not None else None,
        bridge_token=bridge.token if bridge is not None else None,
        bridge_provider=bridge.provider if bridge is not None else None,
    )
    agent = order.profile_id not in (None, PLAIN_SHELL)
    return PtySpec(
        argv=through_login_shell(order.argv, environ) if agent and context.login_shell else order.argv,
        working_dir=pane.working_dir,
        env=build_environment(environ, order.env, told, pane.working_dir, order.given),
        cols=order.cols,
        rows=order.rows,
        session_id=session.id,
        window_id=pane.window_id,
        pane_id=pane.id,
        project_id=context.project_id or "",
        work_item_id=context.work_item_id or "",
        run_id=context.run_id or "",
        owners=(f"run:{context.run_id}",) if context.run_id else (),
        typed=order.typed,
    )
