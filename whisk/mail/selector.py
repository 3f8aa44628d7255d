"""Selectors: recipients such as `@project:<id>` that stand for whoever works there now.

They are replaced by concrete addresses before the message is stored, so a stored message names its readers for ever
and workers that start later never see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from whisk.errors import InvalidError, RefusedError
from whisk.mail.address import MailAddress, unique


def concrete(address: MailAddress, role: str = "") -> MailAddress:
    """`address`, unless it is a selector, which only a recipient of `send` may be; `role` begins the refusal."""
    if address.is_selector:
        prefix = f"{role}: " if role else ""
        raise InvalidError(
            f"{prefix}mail group selector {address.kind} must be expanded before storage", address=str(address)
        )
    return address


def expand(
    recipients: Iterable[MailAddress], find: Callable[[MailAddress], Sequence[MailAddress]]
) -> tuple[MailAddress, ...]:
    """Put in place of each selector what `find` names for it; concrete addresses stay as they are.

    Raises `RefusedError` for a selector that stands for nobody, and whatever `find` raises (`NotFoundError` for a
    project that does not exist). The result has no repetitions.
    """
    found: list[MailAddress] = []
    for recipient in recipients:
        if not recipient.is_selector:
            found.append(recipient)
            continue
        workers = find(recipient)
        if not workers:
            raise RefusedError(f"mail selector {recipient} resolved to no recipients", selector=str(recipient))
        found.extend(workers)
    return unique(found)
