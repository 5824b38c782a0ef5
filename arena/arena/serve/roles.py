"""Callers and the roles of their tokens."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

import msgspec

Role: TypeAlias = Literal["none", "viewer", "bot", "author", "host"]
"""Roles in increasing order: each includes those before it; `none` includes callers without a token."""
ROLES: Final[tuple[Role, ...]] = get_args(Role)


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The sender of a request."""

    role: Role = "none"
    account: str = ""
    """Account of the token; empty without a token, and for the host's link of this process."""
    bot: str = ""
    """For the role bot: name of the only bot that the token may connect."""
    is_by_cookie: bool = False
    """Whether a browser sent the token in a cookie, so that a write needs an origin of this server."""

    def may(self, role: Role) -> bool:
        """Return whether the caller has at least this role."""
        return ROLES.index(self.role) >= ROLES.index(role)
