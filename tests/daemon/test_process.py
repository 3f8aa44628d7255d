"""What holds for the daemon's process as a whole."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from typing import TYPE_CHECKING

from tests.daemon.conftest import COMMAND
from whisk.cli.process import wait_until

if TYPE_CHECKING:
    from tests.daemon.conftest import Whiskd

# Fewer than macOS gives a login shell.
LIMIT = 128


def test_a_daemon_serves_more_connections_than_its_shell_permits_and_its_terminals_get_the_shells_limit(
    place: Whiskd,
) -> None:
    start = ["/bin/sh", "-c", f'ulimit -S -n {LIMIT} && exec "$@"', "sh", *COMMAND, "daemon", "start"]
    subprocess.run(start, env=place.env, check=True, capture_output=True, timeout=60)
    host, port = place.client.host, place.client.port
    with contextlib.ExitStack() as stack:
        for _ in range(2 * LIMIT):
            connection = stack.enter_context(socket.create_connection((host, port), timeout=10))
            connection.sendall(f"GET /v1/health HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        told = place.home / "told"
        command = {
            "exec": True,
            "command": "/bin/sh",
            "args": ["-c", f"ulimit -S -n > {told}.new; mv {told}.new {told}"],
        }
        place.post("/v1/sessions", {"rootDir": str(place.home), "initialPty": command})
        assert wait_until(told.exists, 10)
    assert int(told.read_text()) == LIMIT
