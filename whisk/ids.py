"""Identifiers: a prefix that names the kind, then a ULID, so ids of one kind sort by the time they were made.

Ids name things; they never guard anything. What guards is `secret_token`.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from ulid import ULID


def new_id(prefix: str) -> str:
    """A fresh id such as `mail_01J9…`; 80 random bits, so it is never reused."""
    return f"{prefix}_{ULID()}"


def secret_token() -> str:
    """256 random bits, URL-safe."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """What is stored in place of a token. Plain SHA-256 is enough for 256 random bits."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def token_matches(token: str, expected_hash: str) -> bool:
    """Constant-time comparison of a presented token with a stored hash."""
    return hmac.compare_digest(token_hash(token), expected_hash)
