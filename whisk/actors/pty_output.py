"""What a terminal prints: read in bursts by one watcher, written to the transcript, kept in the ring, handed out.

All of it runs in the hub and never waits for anybody. Those who follow the output hold an offset and nothing else, so
a slow one costs no more than a fast one; what it missed is skipped, and it is told how much that was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gevent import get_hub

from whisk.actors.future import Future
from whisk.errors import BusyError, UnavailableError
from whisk.storage.landing import ROOM, Landing
from whisk.storage.transcript import Transcript
from whisk.terminal.osc import TitleReader
from whisk.terminal.pty import Output
from whisk.terminal.ring import Ring

# A turn of the hub takes no more than this from one terminal, so that a chatty one does not starve the others.
READ_BYTES = 4096
BURST_READS = ROOM // READ_BYTES
MAX_FOLLOWERS = 1000
# What the kernel still holds of a child that has ended; more comes from somebody else who has the terminal open.
_LAST_BYTES = 1024 * 1024
_READ = 1


class PtyOutput:
    """`on_output(title_changed)`, `on_eof()` and `on_failure(error)` are called in the hub; they must not block."""

    def __init__(
        self,
        name: str,
        ring: Ring,
        transcript: Transcript,
        landing: Landing,
        on_output: Callable[[bool], None],
        on_eof: Callable[[], None],
        on_failure: Callable[[Exception], None],
    ) -> None:
        self.ring = ring
        self.titles = TitleReader()
        self.titles.feed(ring.read(0).data)
        self.ended = False
        self.at_eof = False
        self.transcript_error: OSError | None = None
        self._name = name
        self._transcript = transcript
        self._landing = landing
        self._on_output = on_output
        self._on_eof = on_eof
        self._on_failure = on_failure
        self._fd = -1
        self._watcher: Any = None
        self._followers: dict[Future[Output], tuple[int, int, Any]] = {}
        # Told of every burst, with the offset of its first byte; runs in the hub.
        self.listener: Callable[[int, bytes], None] | None = None

    @property
    def followers(self) -> int:
        return len(self._followers)

    def attach(self, fd: int) -> None:
        """Begin to read `fd`, which must not block; it stays the caller's to close, after `detach`."""
        self._fd = fd
        self._watcher = get_hub().loop.io(fd, _READ)
        self._watcher.start(self._readable)

    def detach(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher.close()
            self._watcher = None
        self._fd = -1

    def drain(self) -> None:
        """Take what the kernel has now, without waiting for more."""
        stop = self.ring.end + _LAST_BYTES
        while self._fd >= 0 and not self.at_eof and self.ring.end < stop and self._burst():
            pass

    def finish(self) -> None:
        """Nothing will follow: everyone who waits is told so."""
        self.detach()
        self.ended = True
        self._wake()

    def fail(self, why: str) -> None:
        """The actor ends while the terminal may go on."""
        self.detach()
        followers, self._followers = self._followers, {}
        for future, (_, _, timer) in followers.items():
            _close(timer)
            future.set_error(UnavailableError(why))

    def piece(self, start: int, limit: int) -> Output:
        """At most `limit` bytes of what the ring holds from `start` on."""
        offset, data, skipped = self.ring.read(start, limit)
        return Output(offset=offset, data=data, end=self.ring.end, skipped=skipped, ended=self.ended)

    def follow(self, start: int, limit: int, wait: float) -> Future[Output]:
        """The same, as soon as there is something behind `start`, nothing can follow, or `wait` seconds are over."""
        future: Future[Output] = Future()
        if start < self.ring.end or self.ended or wait <= 0:
            future.set(self.piece(start, limit))
            return future
        if len(self._followers) >= MAX_FOLLOWERS:
            raise BusyError(f"{MAX_FOLLOWERS} readers are waiting for this terminal", limit=MAX_FOLLOWERS)
        timer = get_hub().loop.timer(wait)
        self._followers[future] = (start, limit, timer)
        timer.start(self._settle, future)
        future.on_cancel(lambda: self._settle(future))
        return future

    def _settle(self, future: Future[Output]) -> None:
        """Answer one follower with what there is, which may be nothing."""
        found = self._followers.pop(future, None)
        if found is not None:
            start, limit, timer = found
            _close(timer)
            future.set(self.piece(start, limit))

    def _wake(self) -> None:
        for future, (start, _, _) in list(self._followers.items()):
            if self.ended or start < self.ring.end:
                self._settle(future)

    def _readable(self) -> None:
        # An exception here would be printed and the watcher called again at once, for ever.
        try:
            self._burst()
        except Exception as error:  # noqa: BLE001 (it becomes the crash of the actor that owns this)
            self.detach()
            self._on_failure(error)

    def _burst(self) -> int:
        """Read what there is, within the budget of one turn; returns how many bytes that was."""
        landing = self._landing
        landing.begin(self._name, self.ring.end)
        for _ in range(BURST_READS):
            try:
                count = landing.read(self._fd, READ_BYTES)
            except BlockingIOError:
                break
            except OSError:
                # EIO: no process has the terminal open any more. macOS says so by an empty read.
                count = 0
            if not count:
                self.at_eof = True
                break
        data = landing.data()
        if data:
            self._take(data)
            landing.clear()
        if self.at_eof:
            self.detach()
            self._on_eof()
        return len(data)

    def _take(self, data: bytes) -> None:
        try:
            # First to the disk: a daemon that is killed has lost nothing that anybody was shown.
            self._transcript.append(self.ring.end, data)
        except OSError as error:
            # A full disk costs the transcript a hole; it must not cost the person the terminal.
            self.transcript_error = error
        self.ring.append(data)
        if self.listener is not None:
            self.listener(self.ring.end - len(data), data)
        title_changed = self.titles.feed(data)
        self._wake()
        self._on_output(title_changed)


def _close(timer: Any) -> None:
    timer.stop()
    timer.close()
