"""Assembles blocks of rows; columns that rows share with their match are stored as codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.export._blocks import Coded, RowBlock, code_type
from arena.export._names import weights_of
from arena.export.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arena.export._names import Names
    from arena.export._source import ExportRows, Loaded


def make_block(loaded: Loaded, names: Names, game: str, split: str) -> RowBlock:
    """Return loaded rows as a block with all columns."""
    table, rows = loaded
    num = len(rows)
    return RowBlock(
        num,
        {
            "schema_version": np.full(num, SCHEMA_VERSION, np.uint8),
            "match_id": table["match_id"][rows.match],
            "ply": rows.ply,
            "player": rows.positions.player,
            "own": rows.positions.own,
            "opp": rows.positions.opp,
            "legal": rows.positions.legal,
            "action": rows.action,
            "value": rows.value,
            "root_value": rows.root_value,
            "solver_value": rows.solver_value,
            "plies_to_end": rows.plies_to_end,
            "played_at": table["played_at"][rows.match],
            "count": rows.count,
            **_elos(table, rows, names),
        },
        {
            "match_hash": _hashes(table, rows),
            "game": _constant(game, num),
            **_bots(table, rows, names),
            "tournament": _of_match(table["tournament"], [each.name for each in names.tournaments], rows),
            "termination": _of_match(table["termination"], names.terminations, rows),
            "opening": _of_match(table["opening"], names.openings, rows),
            "split": _constant(split, num),
        },
        rows.policies,
    )


def _constant(text: str, num: int) -> Coded:
    return Coded(np.zeros(num, np.uint8), (text,))


def _hashes(table: NDArray[np.void], rows: ExportRows) -> Coded:
    whole = table["match_hash"].tobytes().hex()
    codes = rows.match.astype(code_type(len(table)))
    return Coded(codes, tuple(whole[at : at + 64] for at in range(0, len(whole), 64)))


def _of_match(codes: NDArray[np.int32], values: Sequence[str], rows: ExportRows) -> Coded:
    """Return a column of texts that are the same for all rows of a match."""
    compact, used = _compact(codes, values)
    return Coded(compact[rows.match], used)


def _bots(table: NDArray[np.void], rows: ExportRows, names: Names) -> dict[str, Coded]:
    records = [competitor.record for competitor in names.competitors]
    texts = {
        "": [record.identity for record in records],
        "_version": [record.version for record in records],
        "_weights": [weights_of(record) for record in records],
    }
    columns: dict[str, Coded] = {}
    for suffix, values in texts.items():
        codes, used = _compact(table["competitors"], values)
        for who, side in _sides(rows).items():
            columns[f"{who}{suffix}"] = Coded(codes[rows.match, side], used)
    return columns


def _elos(table: NDArray[np.void], rows: ExportRows, names: Names) -> dict[str, NDArray[np.float32]]:
    elos = np.array([competitor.elo for competitor in names.competitors], np.float32)[table["competitors"]]
    return {f"{who}_elo": elos[rows.match, side] for who, side in _sides(rows).items()}


def _sides(rows: ExportRows) -> dict[str, NDArray[np.int8]]:
    player = rows.positions.player
    return {"bot": player, "opponent": 1 - player}


def _compact(
    codes: NDArray[np.int32], values: Sequence[str]
) -> tuple[NDArray[np.unsignedinteger], tuple[str, ...]]:
    """Renumber codes so that only occurring values remain, each once, in the order of the codes."""
    used, inverse = np.unique(codes, return_inverse=True)
    texts = [values[int(code)] for code in used]
    index: dict[str, int] = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    again = np.array([index[text] for text in texts], code_type(len(index)))
    return again[inverse].reshape(codes.shape), tuple(index)
