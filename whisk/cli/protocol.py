"""The version of the HTTP interface that this client speaks; the daemon tells its own at `/v1/compat`."""

from __future__ import annotations

PROTOCOL_VERSION = 31
