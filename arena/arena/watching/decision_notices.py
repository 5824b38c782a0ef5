"""Decisions of people about a running tournament (voids, joins, leaves) as notices for viewers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.live.views import Notice
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from arena_db.changes import ChangeRecord
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_VERBS: Final[Mapping[str, str]] = {
    "void": "is void",
    "unvoid": "counts again",
    "join": "joined",
    "leave": "left",
    "disqualify": "is disqualified",
}
"""Kinds of decisions that affect play, and their verbs."""
_PLURALS: Final[Mapping[str, str]] = {"is void": "are void", "counts again": "count again"}
_MAX_TEXT: Final = 200
"""Maximum characters of a notice: it has one line, and people write its reason."""


def decision_notices(store: Store, record: TournamentRecord) -> list[Notice]:
    """Return the decisions about a tournament as notices, newest first."""
    return [
        Notice(t=change.made_at, text=_text(change), is_decision=True)
        for change in reversed(store.changes.of(record.id))
        if change.kind in _VERBS
    ]


def merged(notices: Iterable[Notice], most: int) -> tuple[Notice, ...]:
    """Return the newest `most` notices, newest first."""
    return tuple(sorted(notices, key=lambda notice: -notice.t)[:most])


def _text(change: ChangeRecord) -> str:
    """Return a decision as a sentence: `match 7 is void: the clock was wrong`."""
    verb = _VERBS[change.kind]
    if change.subject.startswith("matches "):
        verb = _PLURALS.get(verb, verb)
    return clean_text(f"{change.subject} {verb}{f': {change.reason}' if change.reason else ''}", _MAX_TEXT)
