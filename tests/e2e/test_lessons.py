"""The tutorials on training, run as written with smaller numbers, have the described results."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, NamedTuple

from arena.home import open_store
from arena_db.records import MatchFilter
from pages import LESSONS, blocks, reader

if TYPE_CHECKING:
    from pathlib import Path

    from arena_db.records import StoredMatch


class Followed(NamedTuple):
    """The state after all commands of a tutorial."""

    folder: Path
    said: str
    """What all commands wrote to stdout."""

    def exam(self, store: str) -> list[StoredMatch]:
        """Return the matches of the tutorial's last tournament."""
        with open_store(str(self.folder / store), read_only=True) as opened:
            return opened.matches.newest(MatchFilter(tournament="exam"), limit=1000)

    def provenance(self, name: str) -> dict[str, dict[str, object]]:
        """Return the provenance of a weights file."""
        return tomllib.loads((self.folder / f"{name}.provenance.toml").read_text(encoding="utf-8"))


def _follow(page: Path, folder: Path, python: Path) -> Followed:
    follows = reader(folder, python)
    said = [follows.follow(block) for block in blocks(page) if block.is_run]
    return Followed(follows.folder, "".join(said))


def test_the_first_net(wheel_python: Path, tmp_path: Path) -> None:
    followed = _follow(LESSONS[0], tmp_path, wheel_python)
    assert "% of 4 matches; first " in followed.said
    assert "keras:weights=first-net.onnx" in followed.said
    data = followed.provenance("first-net")["data"]
    assert (data["source"], data["matches"]) == ("export lessons", 80)
    exam = followed.exam("first-net.db")
    assert len(exam) == 3 * 4 * 2
    assert {match.termination for match in exam} == {"rules"}


def test_the_net_that_teaches_itself(wheel_python: Path, tmp_path: Path) -> None:
    followed = _follow(LESSONS[1], tmp_path, wheel_python)
    assert "alphazero:simulations=100,weights=mine.onnx" in followed.said
    assert followed.provenance("mine")
    exam = followed.exam("self-taught.db")
    assert len(exam) == 10 * 2
    assert {match.termination for match in exam} == {"rules"}
