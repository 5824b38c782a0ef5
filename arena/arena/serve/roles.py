"""Who asks, and what each role may do."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

import msgspec

Role: TypeAlias = Literal["none", "viewer", "bot", "author", "host"]
"""Each may what those before it may; `none` is everybody, with or without a token."""
ROLES: Final[tuple[Role, ...]] = get_args(Role)


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks."""

    role: Role = "none"
    account: str = ""
    """Name of the account of the token; empty without one, and for the host's link of this process."""
    bot: str = ""
    """Name of the one bot that the token connects, of the role bot."""
    is_by_cookie: bool = False
    """Whether a browser sent the token by itself, so that a write needs an origin of ours."""

    def may(self, role: Role) -> bool:
        """Return whether the caller has at least a role."""
        return ROLES.index(self.role) >= ROLES.index(role)
