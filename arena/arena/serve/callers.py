"""Finds out who asks: by a token in a header, a cookie, or once in an address."""

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

    from arena.serve.context import Serving
    from arena.serve.reading import Reading
    from arena.serve.roles import Role
    from arena_db.tokens import TokenRecord

_DAY_S: Final = 86_400
_COOKIE_S: Final = 180 * _DAY_S
_LONGEST: Final = 200
"""Characters of a token that is looked for."""

_log = logging.getLogger(__name__)


class Callers:
    """Knows the tokens of a server."""

    def __init__(self, serving: Serving, clock: Callable[[], float] = time.time) -> None:
        """Make the token of the host's link, which is kept nowhere and ends with the process.

        Args:
            serving: reads the store.
            clock: UTC seconds.
        """
        self.host_token = new_token("host")
        """For the link that the command prints."""
        self._host_digest = digest_of(self.host_token)
        self._serving = serving
        self._settings = serving.settings
        self._clock = clock
        self._noted: dict[int, int] = {}
        """Day of the last use that was written down, by id of a token."""

    @property
    def cookie(self) -> str:
        """Return the name of the cookie; browsers take `__Host-` by https alone."""
        return "__Host-arena" if self._settings.is_https else f"arena-{self._settings.port}"

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return who asks; a cookie that counts no more is nobody's.

        Raises:
            ProblemError: 401, a token was sent in a header and does not count.
            StoreError: nobody can say whose token it is.
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
        """Return whose token it is; None where it counts for nobody.

        Raises:
            StoreError: the store cannot be asked.
        """
        digest = digest_of(token)
        if compare_digest(digest, self._host_digest):
            return Caller(role="host")
        if not token.startswith(PREFIX) or len(token) > _LONGEST:
            return None
        record = await self._serving.read_quickly(lambda reading: self._stored(reading, digest))
        if record is None or not record.counts_at(self._clock()):
            return None
        return Caller(role=cast("Role", record.role), account=record.account, bot=record.bot)

    def _stored(self, reading: Reading, digest: bytes) -> TokenRecord | None:
        """Return a token of the store, and write down its use once a day where that is possible at once."""
        from arena_db.errors import DamagedError, DatabaseError

        try:
            found = reading.store.find_token(digest)
        except DamagedError as error:
            # Of the store itself a page would say so; of one token nobody knows what it allows.
            _log.warning("%s", error)
            return None
        now = self._clock()
        day = int(now // _DAY_S)
        if found is None or not found.counts_at(now) or self._settings.read_only:
            return found
        if found.used_on != day and self._noted.get(found.id) != day:
            self._noted[found.id] = day
            with suppress(DatabaseError):
                reading.store.note_use(found.id, day)
        return found

    async def traded(self, path: str, query: str) -> dict[str, str] | None:
        """Return the headers of a redirect that trades a token in an address for a cookie; None without one.

        The address that is shown and kept in the browser's history holds no token then.
        """
        pairs = parse_qsl(query, keep_blank_values=True)
        tokens = [value for name, value in pairs if name == "token"]
        if not tokens:
            return None
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        # Of two slashes at the beginning the first word behind would be a host.
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
