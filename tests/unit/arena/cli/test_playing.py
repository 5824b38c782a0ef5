"""A person who plays by lines is asked for moves of running matches only."""

from __future__ import annotations

import io
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from arena.cli.playing import _PlainPlay  # pyright: ignore[reportPrivateUsage] - the loop around it waits for input
from arena.coordinator.client import Link, NotStartedError
from plays import Played, config

if TYPE_CHECKING:
    from pathlib import Path

DEADLINE_S = 60.0


def is_asked(played: Played, link: Link) -> bool:
    """Return whether a person at a link is asked for a move, once the screen knows the match."""
    plain, ends_at = _PlainPlay(link, played.record, io.StringIO()), time.monotonic() + DEADLINE_S
    with closing(plain._feed):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - see above
        while not plain._view.matches:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            assert time.monotonic() < ends_at
            if (batch := plain._feed.poll()) is not None:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
                plain._print(batch)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return plain._is_due()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def test_a_match_of_a_killed_coordinator_is_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Played(tmp_path / "arena.db", config())) as played:
        words = Link.again(played.record.name)
        held = Link(str(played.path), words)
        assert held.begin().id == played.record.id
        assert (held.first_match, is_asked(played, held)) == (1, True)

        def nobody(*_: object) -> None:
            """Find no process that holds the play."""

        def cannot(*_: object, **__: object) -> None:
            raise NotStartedError("nothing is started here", 1)

        # When another coordinator begins, the store still has the events of match 1.
        monkeypatch.setattr("arena.coordinator.client.attach", nobody)
        monkeypatch.setattr("arena.coordinator.client.start", cannot)
        again = Link(str(played.path), words)
        with pytest.raises(NotStartedError):
            again.begin()
        assert (again.first_match, is_asked(played, again)) == (2, False)
