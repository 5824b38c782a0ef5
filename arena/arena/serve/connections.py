"""Connections that send or read too slowly are closed, so that none of them holds a place for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

HEAD_S: Final = 20.0
"""Seconds for a client to send the head of its first request, or of its next one."""
STALLED_S: Final = 30.0
"""Seconds after which a client that reads nothing of what waits for it is given up."""
_LOOK_S: Final = 2.0
"""Seconds between two looks at a connection; 1,000 of them cost 0.2 % of a core."""
_LEAVE_S: Final = 0.3
"""Seconds for what is left of answers when the server ends."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 whose patience ends: uvicorn itself waits for ever for a head, and for a reader."""

    _waits_since = 0.0
    """When the head of a request began to be waited for; on the clock of the loop."""
    _buffered = 0
    """Bytes that waited for the client at the last look."""
    _stalled_since: float | None = None
    _look: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - uvicorn's
        super().connection_made(transport)
        self._waits_since = self.loop.time()
        self._look = self.loop.call_later(_LOOK_S, self._look_after)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    @override
    def on_response_complete(self) -> None:
        self._waits_since = self.loop.time()
        super().on_response_complete()

    @override
    def shutdown(self) -> None:
        super().shutdown()
        self.loop.call_later(_LEAVE_S, self.transport.abort)

    def _look_after(self) -> None:
        now = self.loop.time()
        buffered = self.transport.get_write_buffer_size()
        if buffered and self._stalled_since is not None and buffered >= self._buffered:
            if now - self._stalled_since > STALLED_S:
                self.transport.abort()
                return
        else:
            self._stalled_since = now if buffered else None
        self._buffered = buffered
        if self._is_idle and not buffered and now - self._waits_since > HEAD_S:
            self.transport.abort()
            return
        self._look = self.loop.call_later(_LOOK_S, self._look_after)

    @property
    def _is_idle(self) -> bool:
        """Return whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison] - uvicorn sets it later
