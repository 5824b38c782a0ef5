"""Identifies the caller by a token: in a header, in a cookie, or once in an address."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import parse_qsl, urlencode

from msgspec.structs import replace

from arena.secret_tokens import PREFIX, digest_of, new_token
from arena.serve.problems import ProblemError
from arena.serve.roles import Caller

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arena.serve.reading import Reading
    from arena.serve.request_context import Serving
    from arena.serve.roles import Role
    from arena_db.tokens import TokenRecord

_DAY_S: Final = 86_400
_COOKIE_S: Final = 180 * _DAY_S
"""Lifetime of the cookie in seconds, the same as the default lifetime of a token."""
_LONGEST: Final = 200
"""Maximum length of a token; a longer one is not looked up."""

_log = logging.getLogger(__name__)


class Callers:
    """Checks tokens against the store and the host's link."""

    def __init__(self, serving: Serving, clock: Callable[[], float] = time.time) -> None:
        """Create the token of the host's link, which exists only in memory and ends with the process.

        Args:
            serving: access to the store.
            clock: UTC seconds.
        """
        self.host_token = new_token("host")
        """The token for the link that the command prints."""
        self._host_digest = digest_of(self.host_token)
        self._serving = serving
        self._settings = serving.settings
        self._clock = clock
        self._noted: dict[int, int] = {}
        """Day of the last recorded use, by id of the token."""

    @property
    def cookie(self) -> str:
        """Name of the cookie; browsers accept the prefix `__Host-` only over https."""
        return "__Host-arena" if self._settings.is_https else f"arena-{self._settings.port}"

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return the caller; an invalid cookie counts as no token.

        Raises:
            ProblemError: 401, the token in the header is invalid.
            StoreError: the token cannot be checked.
        """
        given = headers.get("authorization", "")
        if given:
            kind, _, token = given.partition(" ")
            found = await self.find(token.strip()) if kind.lower() == "bearer" else None
            if found is None:
                raise ProblemError(
                    401,
                    "This token is unknown, revoked or expired; ask the host of this server for another.",
                    headers={"www-authenticate": 'Bearer realm="arena", error="invalid_token"'},
                )
            return found
        token = self._from_cookie(headers.get("cookie", ""))
        found = await self.find(token) if token else None
        return Caller() if found is None else replace(found, is_by_cookie=True)

    async def find(self, token: str) -> Caller | None:
        """Return the caller with this token; None if the token is invalid.

        Raises:
            StoreError: the store cannot be read.
        """
        digest = digest_of(token)
        # Compares hashes in constant time, so that the duration reveals nothing about the token.
        if compare_digest(digest, self._host_digest):
            return Caller(role="host")
        # A text that cannot be a token is not looked up in the store, since an attacker may send many.
        if not token.startswith(PREFIX) or len(token) > _LONGEST:
            return None
        record = await self._serving.read_quickly(lambda reading: self._stored(reading, digest))
        if record is None or not record.counts_at(self._clock()):
            return None
        return Caller(role=cast("Role", record.role), account=record.account, bot=record.bot)

    def _stored(self, reading: Reading, digest: bytes) -> TokenRecord | None:
        """Return a token of the store, and record its use once a day if the store is writable at once."""
        from arena_db.errors import DamagedError, DatabaseError

        try:
            found = reading.store.tokens.find(digest)
        except DamagedError as error:
            # If the whole store is damaged, the page reports it; a damaged token has no known role.
            _log.warning("%s", error)
            return None
        now = self._clock()
        day = int(now // _DAY_S)
        if found is None or not found.counts_at(now) or self._settings.read_only:
            return found
        if found.used_on != day and self._noted.get(found.id) != day:
            # Set before the attempt, so that a locked store is not tried again at every request of the day.
            self._noted[found.id] = day
            with suppress(DatabaseError):
                reading.store.tokens.note_use(found.id, day)
        return found

    async def traded(self, path: str, query: str) -> dict[str, str] | None:
        """Return the headers of a redirect that turns a token in the address into a cookie; None without one.

        The redirect keeps the token out of the visible address and the browser's history.
        """
        pairs = parse_qsl(query, keep_blank_values=True)
        tokens = [value for name, value in pairs if name == "token"]
        if not tokens:
            return None
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        # A browser would read "//name" as a host.
        way = "/" + path.lstrip("/")
        headers = {"location": way + (f"?{rest}" if rest else "")}
        if await self.find(tokens[0]) is None:
            raise ProblemError(
                401, "This link has expired or was revoked; ask the host of this server for another."
            )
        secure = "; Secure" if self._settings.is_https else ""
        headers["set-cookie"] = (
            f"{self.cookie}={tokens[0]}; Path=/; Max-Age={_COOKIE_S}; HttpOnly; SameSite=Strict{secure}"
        )
        return headers

    def _from_cookie(self, text: str) -> str:
        try:
            found = SimpleCookie(text).get(self.cookie)
        except CookieError:
            return ""
        return "" if found is None else found.value
