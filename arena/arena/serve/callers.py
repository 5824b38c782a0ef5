"""Finds out who asks: by a token in a header, a cookie, or once in an address."""

from __future__ import annotations

import secrets
from hashlib import sha256
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

from arena.serve.problems import ProblemError
from arena.serve.roles import Caller

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.serve.settings import ServeSettings

TOKEN_BYTES: Final = 32
_COOKIE_S: Final = 180 * 86_400
_BEARER: Final = "bearer "


class Callers:
    """Knows the tokens of a server."""

    def __init__(self, settings: ServeSettings) -> None:
        """Make the token of the host's link, which is kept nowhere and ends with the process."""
        self.host_token = f"arena_h_{secrets.token_urlsafe(TOKEN_BYTES)}"
        """For the link that the command prints."""
        self._host_hash = _hash(self.host_token)
        self._settings = settings

    @property
    def cookie(self) -> str:
        """Return the name of the cookie; browsers take `__Host-` by https alone."""
        return "__Host-arena" if self._settings.is_https else f"arena-{self._settings.port}"

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return who asks; a token that counts no more is nobody's.

        Raises:
            ProblemError: 401, a token was sent in a header and does not count.
        """
        given = headers.get("authorization", "")
        if given.lower().startswith(_BEARER):
            found = await self.find(given[len(_BEARER) :].strip())
            if found is None:
                raise ProblemError(
                    401,
                    "This token is unknown, revoked or expired; ask the host of this server for another.",
                    headers={"www-authenticate": 'Bearer realm="arena", error="invalid_token"'},
                )
            return found
        token = self._from_cookie(headers.get("cookie", ""))
        found = await self.find(token) if token else None
        return (
            Caller() if found is None else Caller(role=found.role, account=found.account, is_by_cookie=True)
        )

    async def find(self, token: str) -> Caller | None:
        """Return whose token it is; None where it counts for nobody."""
        if compare_digest(_hash(token), self._host_hash):
            return Caller(role="host")
        return None

    async def traded(self, path: str, query: str) -> dict[str, str] | None:
        """Return the headers of a redirect that trades a token in an address for a cookie; None without one.

        The address that is shown and kept in the browser's history holds no token then.
        """
        pairs = parse_qsl(query, keep_blank_values=True)
        tokens = [value for name, value in pairs if name == "token"]
        if not tokens:
            return None
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        headers = {"location": path + (f"?{rest}" if rest else ""), "cache-control": "no-store"}
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


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
