"""Which profiles' programs are on this machine. Looking is the caller's: `which(command)` gives a path or None."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from whisk.profiles.profile import AgentProfile, DetectedAgent, Profile, described

Which = Callable[[str], str | None]


def detect(profiles: Iterable[Profile], which: Which) -> list[DetectedAgent]:
    """In the order of `profiles`; each command is looked up once."""
    look = _once(which)
    found = []
    for profile in profiles:
        if (hit := _locate(profile, look)) is not None:
            command, path = hit
            info = profile.info
            found.append(
                DetectedAgent(
                    profile_id=info.id, provider=info.provider, label=info.label, detect_command=command, path=path
                )
            )
    return found


def describe(profiles: Iterable[Profile], which: Which) -> list[AgentProfile]:
    """The wire records of all profiles, each with whether its program was found and where."""
    look = _once(which)
    listed = []
    for profile in profiles:
        hit = _locate(profile, look)
        listed.append(described(profile, hit[1] if hit else None))
    return listed


def _locate(profile: Profile, which: Which) -> tuple[str, str] | None:
    if profile.info.detect_cmd is None:
        return None
    for command in (profile.info.detect_cmd, *profile.info.detect_aliases):
        if (path := which(command)) is not None:
            return command, path
    return None


def _once(which: Which) -> Which:
    known: dict[str, str | None] = {}

    def look(command: str) -> str | None:
        if command not in known:
            known[command] = which(command)
        return known[command]

    return look
