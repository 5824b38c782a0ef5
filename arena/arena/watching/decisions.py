"""What people decided about an event after its plan, as lines of its news: voids, joins, leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.live.views import Notice
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from arena_db.records import TournamentRecord
    from arena_db.store import Store
    from arena_db.voiding import ChangeRecord

_VERBS: Final[Mapping[str, str]] = {
    "void": "is void",
    "unvoid": "counts again",
    "join": "joined",
    "leave": "left",
    "disqualify": "is disqualified",
}
"""Kinds of decisions that say something about play, and how they read behind their subject."""
_PLURALS: Final[Mapping[str, str]] = {"is void": "are void", "counts again": "count again"}
_MAX_TEXT: Final = 200


def decision_notices(store: Store, record: TournamentRecord) -> list[Notice]:
    """Return the decisions about an event, newest first, a line each."""
    return [
        Notice(t=change.made_at, text=_text(change), is_decision=True)
        for change in reversed(store.changes(record.id))
        if change.kind in _VERBS
    ]


def merged(notices: Iterable[Notice], most: int) -> tuple[Notice, ...]:
    """Return the newest of these notices, at most so many, newest first."""
    return tuple(sorted(notices, key=lambda notice: -notice.t)[:most])


def _text(change: ChangeRecord) -> str:
    """Return a decision in the words of its event: `match 7 is void: the clock was wrong`."""
    verb = _VERBS[change.kind]
    if change.subject.startswith("matches "):
        verb = _PLURALS.get(verb, verb)
    return clean_text(f"{change.subject} {verb}{f': {change.reason}' if change.reason else ''}", _MAX_TEXT)
