"""Reads matches from the store and converts them to rows."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.export._blocks import Policies
from arena.export._boards import positions_of
from arena.export._names import Names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from arena.export._boards import Positions
    from arena.export.match_selection import ExportQuery
    from arena_db.records import PackedMatch, Remark
    from arena_db.store import Store
    from arena_plugins.contract import Game

ROWS = 1 << 18
"""Approximate maximum number of rows in memory at once."""
_NAN = np.float32(np.nan).tobytes()
_WINNER = {"first": 1, "second": -1, "draw": 0}

MATCH = np.dtype(
    [
        ("match_id", "<i8"),
        ("match_hash", "u1", 32),
        ("played_at", "<i8"),
        ("tournament", "<i4"),
        ("competitors", "<i4", 2),
        ("opening", "<i4"),
        ("num_opening", "<i4"),
        ("winner", "i1"),
        ("termination", "u1"),
    ]
)
"""The columns that a row takes from its match; codes are those of `Names`."""


@dataclass(slots=True)
class ExportRows:
    """Positions in which an action followed, with the action, the reports about them and the result."""

    positions: Positions
    action: NDArray[np.int32]
    ply: NDArray[np.int32]
    plies_to_end: NDArray[np.int32]
    value: NDArray[np.float32]
    root_value: NDArray[np.float32]
    """The mover's expected result; NaN if it reported none."""
    solver_value: NDArray[np.float32]
    """The exact result; NaN if no grade is stored."""
    count: NDArray[np.int32]
    match: NDArray[np.int32]
    """Index of the row's match; `[n]`."""
    policies: Policies
    weights: NDArray[np.int32]
    """Number of rows that root value, solver value and policy are means of; 0 if there is none; `[n, 3]`."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.action)


class Loaded(NamedTuple):
    """Some matches and their rows."""

    matches: NDArray[np.void]
    """The matches, with dtype `MATCH`."""
    rows: ExportRows


class Source:
    """The matches of a query, all of the same game."""

    def __init__(self, store: Store, query: ExportQuery, game: Game, spec: str) -> None:
        self.game = game
        self.spec = spec
        self.names = Names(store, game, spec)
        self._store = store
        self._query = query
        self._width = 1 if game.num_actions <= 256 else 2  # noqa: PLR2004 # the packing of arena_db.codec

    def pages(self) -> Iterator[list[PackedMatch]]:
        """Yield the matches in order of their numbers, in pages of about `ROWS` rows at most."""
        page = max(1, ROWS // self.game.max_length)
        return self._store.bulk.packed_matches(self._query.selection(), page=page)

    def num_rows(self, matches: Sequence[PackedMatch]) -> int:
        """Return the number of positions in matches."""
        return sum(map(len, map(attrgetter("actions"), matches))) // self._width

    def load(self, matches: Sequence[PackedMatch]) -> Loaded:
        """Convert matches to rows.

        Raises:
            ExportError: a match breaks the rules of the game.
        """
        table = self._table(matches)
        lengths = np.array([len(match.actions) for match in matches], np.int64) // self._width
        starts = np.concatenate([[0], np.cumsum(lengths)])
        packed = np.frombuffer(b"".join(match.actions for match in matches), f"<u{self._width}")
        positions = positions_of(self.game, packed.astype(np.uint16), starts, table["match_id"].tolist())
        match = np.repeat(np.arange(len(matches), dtype=np.int32), lengths)
        ply = (np.arange(len(match)) - starts[match]).astype(np.int32)
        rows = ExportRows(
            positions=positions,
            action=packed.astype(np.int32),
            ply=ply,
            plies_to_end=(lengths[match] - ply).astype(np.int32),
            # The winner is 1 or -1 from the point of view of the first player, the value from that of the
            # side to move.
            value=(table["winner"][match] * (1 - 2 * positions.player)).astype(np.float32),
            root_value=_claims(matches, lengths),
            solver_value=np.full(len(match), np.nan, np.float32),
            count=np.ones(len(match), np.int32),
            match=match,
            policies=self._policies(matches, starts),
            weights=np.zeros((len(match), 3), np.int32),
        )
        self._grade(matches, starts, rows)
        rows.weights[:, 0] = ~np.isnan(rows.root_value)
        rows.weights[:, 1] = ~np.isnan(rows.solver_value)
        rows.weights[rows.policies.rows, 2] = 1
        return Loaded(table, rows)

    def _table(self, matches: Sequence[PackedMatch]) -> NDArray[np.void]:
        names, width = self.names, self._width
        table = np.zeros(len(matches), MATCH)
        places = {number: names.place(number) for number in {match.tournament for match in matches}}
        table["match_id"] = [match.id for match in matches]
        hashes = np.frombuffer(b"".join(match.match_hash for match in matches), np.uint8)
        table["match_hash"] = hashes.reshape(-1, 32)
        table["played_at"] = [round(match.started_at * 1000) for match in matches]
        table["tournament"] = [places[match.tournament].code for match in matches]
        for player, seat in enumerate(("first_seat", "second_seat")):
            table["competitors"][:, player] = [
                places[match.tournament].competitors[getattr(match, seat)] for match in matches
            ]
        table["opening"] = [
            names.opening(match.actions[: width * match.num_opening], width) for match in matches
        ]
        table["num_opening"] = [match.num_opening for match in matches]
        table["winner"] = [_WINNER[match.outcome] for match in matches]
        codes = {kind: names.termination(kind) for kind in {match.termination for match in matches}}
        table["termination"] = [codes[match.termination] for match in matches]
        return table

    def _policies(self, matches: Sequence[PackedMatch], starts: NDArray[np.int64]) -> Policies:
        said = self._store.bulk.remarks([match.id for match in matches])
        rows: list[int] = []
        values: list[NDArray[np.float16]] = []
        for index, match in enumerate(matches if said else ()):
            for ply, remark in enumerate(said.get(match.id, ())):
                policy = None if remark is None or ply < match.num_opening else self._policy(remark)
                if policy is not None:
                    rows.append(int(starts[index]) + ply)
                    values.append(policy)
        shape = (len(rows), self.game.num_actions)
        return Policies(np.array(rows, np.int32), np.array(values, np.float16).reshape(shape))

    def _policy(self, remark: Remark) -> NDArray[np.float16] | None:
        """Return the policy that a bot reported, else its visit shares, which self-play also learns from."""
        said = remark.policy or remark.visits
        shares = np.zeros(self.game.num_actions, np.float64)
        for action, share in said or ():
            shares[action] = share
        total = shares.sum()
        return (shares / total).astype(np.float16) if total > 0 else None

    def _grade(self, matches: Sequence[PackedMatch], starts: NDArray[np.int64], rows: ExportRows) -> None:
        """Fill in the exact solver's results where grades are stored."""
        graded = self._store.bulk.analyses([match.id for match in matches], "solver")
        for index, match in enumerate(matches if graded else ()):
            for ply, judged in enumerate(graded.get(match.id, ())):
                if judged.value is not None:
                    rows.solver_value[int(starts[index]) + ply] = judged.value


def _claims(matches: Sequence[PackedMatch], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the results that movers expected, NaN if they reported none; `[n]`."""
    if not any(match.claims for match in matches):
        return np.full(int(lengths.sum()), np.nan, np.float32)
    claims = [match.claims or _NAN * length for match, length in zip(matches, lengths.tolist(), strict=True)]
    return np.frombuffer(b"".join(claims), "<f4").astype(np.float32)
