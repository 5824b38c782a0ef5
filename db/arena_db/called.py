"""Parses the ways to name a bot: name, spec or label, with its version or with digits of its identity.

Tables and screens print these forms, and each of them can be typed wherever a bot is asked for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from arena_db.wild import is_like

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = "~"
"""Separates a name from digits of an identity."""
LEAST_DIGITS = 4
"""Minimum number of digits of an identity that name a bot."""
_WITH_DIGITS = re.compile(rf"(.*){MARK}([0-9a-fA-F]{{{LEAST_DIGITS},64}})", re.DOTALL)
_WITH_VERSION = re.compile(r"([^:@]+)@([^:]+)(:.*)?", re.DOTALL)


class NameParts(NamedTuple):
    """The possible readings of what was typed for a bot."""

    text: str
    """The text as typed; may be a pattern."""
    beginning: str = ""
    """The part before the digits: a name, spec or label of the bot begins with it."""
    digits: str = ""
    """The identity begins with these lower-case digits; empty if there are none."""
    unversioned: str = ""
    """The text without its version; empty if it has none."""
    version: str = ""


def read_called(text: str) -> NameParts:
    """Parse `mcts`, `mcts:playouts=20`, `mcts@0.1.0:playouts=20`, `mcts:playouts=20~7f3a9c`, `~7f3a9c`."""
    by_digits, by_version = _WITH_DIGITS.fullmatch(text), _WITH_VERSION.fullmatch(text)
    return NameParts(
        text,
        by_digits[1] if by_digits else "",
        by_digits[2].lower() if by_digits else "",
        by_version[1] + (by_version[3] or "") if by_version else "",
        by_version[2] if by_version else "",
    )


def is_called(wanted: str, texts: Iterable[str], *, version: str, identity: str) -> bool:
    """Return whether a bot matches what was typed; `arena_db.filters.is_named` is the same in SQL.

    Args:
        wanted: the text as typed.
        texts: name, spec and labels of the bot.
        version: version of the bot.
        identity: identity of the bot, hex digits.
    """
    called, known = read_called(wanted), list(texts)
    if any(is_like(text, wanted) for text in known):
        return True
    if called.digits and identity.startswith(called.digits):
        return any(text.startswith(called.beginning) for text in known)
    return bool(called.version) and version == called.version and called.unversioned in known
