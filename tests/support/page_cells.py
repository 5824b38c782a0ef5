"""Cells of the tables on pages, made from the commands' output, independently of the code of the pages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Row = Mapping[str, Any]
    Table = tuple[str, list[list[str]]]


def rating_cells(row: Row, num_cells: int) -> list[str]:
    """Return the first cells of a row of ratings, without its stroke."""
    mark = ("?" if row["rests_on_prior"] else "") + ("*" if row["tested"] else "")
    faults = sum(row[kind] for kind in ("time", "illegal", "crash", "other"))
    cells = [
        str(row["rank"]),
        row["name"],
        f"{row['elo']:.0f}{mark}",
        _whole(row["error"]),
        _percent(row["points"] / row["games"] if row["games"] else None),
        *(str(row[key]) for key in ("games", "wins", "draws", "losses")),
        _percent(row["los"]),
        str(faults or ""),
    ]
    return cells[:num_cells]


def match_cells(row: Row) -> list[str]:
    """Return the cells of a match in a list."""
    result = str({"1/2-1/2": "1/2", "*": "void"}.get(row["result"], row["result"]))
    end = row["termination"] + (f", void {row['void_reason']}" if row["void_reason"] else "")
    began = datetime.fromisoformat(row["started_at"]).strftime("%Y-%m-%d %H:%M")
    return [row["address"], row["first"], result, row["second"], end, str(row["plies"]), began]


def bot_tables(page: Row, name: str) -> Iterator[Table]:
    """Yield captions and cells of the tables of a bot, as far as they follow from `arena bots show`."""
    pools = {(row["game"], row["pool"]) for row in page["opponents"]}
    rows = [
        [
            row["cell"]["opponent"],
            *([f"{row['game']}, {row['pool']}"] if len(pools) > 1 else []),
            *_score_cells(row["cell"]),
        ]
        for row in page["opponents"]
    ]
    yield "Against each opponent, most matches first", rows
    if page["worst"]:
        yield (
            f"The most surprising of {page['losses']} losses: most expected points, then earliest mistake",
            [
                [loss["address"], loss["opponent"], _percent(loss["expected"]), *_loss_cells(loss)]
                for loss in page["worst"]
            ],
        )
    if page["openings"]:
        yield (
            f"Openings of {name}, most matches first; each leads to its oldest match",
            [*opening_cells(page["openings"])],
        )
    yield (
        "Where it played, newest first",
        [
            [
                entry["tournament"],
                _minute(entry["created_at"]),
                f"{entry['game']}, {entry['pool']}",
                entry["label"],
                "-".join(str(entry[key]) for key in ("wins", "draws", "losses")),
                _whole(entry["elo"]),
                _whole(entry["error"]),
                str(entry["forfeits"] or ""),
            ]
            for entry in page["tournaments"]
        ],
    )
    yield from _mistakes(page["mistakes"])


def versus_tables(labels: Sequence[str], met: Row) -> Iterator[Table]:
    """Yield captions and cells of the tables of two bots, as far as they follow from `arena versus`."""
    cell = met["cell"]
    yield (
        f"Results of {labels[0]} by who moved first",
        [
            [who, str(sum(results)), _triple(results), _percent(_share(results))]
            for who, results in zip(labels, (cell["moving_first"], cell["moving_second"]), strict=True)
        ],
    )
    for label, key, lost in ((labels[0], "worst", "losses"), (labels[1], "opponent_worst", "wins")):
        if met[key]:
            caption = f"Losses of {label}, {cell[lost]} in all: the earliest known mistake first"
            yield caption, [[loss["address"], *_loss_cells(loss)] for loss in met[key]]
    if met["openings"]:
        yield (
            f"Openings of {labels[0]}, most matches first; each leads to its oldest match",
            [*opening_cells(met["openings"])],
        )
    yield (
        f"The newest {len(met['matches'])} of {_games(cell)} matches; side and points of {labels[0]}",
        [
            [
                *(one["address"], one["side"], f"{one['points']:g}", str(one["plies"]), one["ending"]),
                _minute(one["started_at"]),
            ]
            for one in met["matches"]
        ],
    )
    if met["mistakes"]["graded"]:
        yield from _mistakes(met["mistakes"])


def opening_cells(found: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the rows of the openings that a page shows, 30 at most."""
    shown = found[:30]
    has_grades = any(one["graded"] for one in shown)
    has_games = len({one["game"] for one in found}) > 1
    for one in shown:
        yield [
            one["moves"] or "none given",
            *([one["game"]] if has_games else []),
            str(one["games"]),
            _percent(_share([one[key] for key in ("wins", "draws", "losses")])),
            "-".join(str(one[key]) for key in ("wins", "draws", "losses")),
            *([str(one["graded"]), str(one["mistakes"])] if has_grades else []),
        ]


def next_move_cells(told: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the rows of the moves that were played next in a position."""
    for row in told:
        twins = f" ({' '.join(row['twins'])})" if row["twins"] else ""
        yield [
            f"{row['move']}{twins}",
            str(row["games"]),
            f"{100 * row['games'] / sum(each['games'] for each in told):.0f}%",
            _percent(row["score"]),
            f"{100 * row['score_low']:.1f} to {100 * row['score_high']:.1f}",
            "-".join(str(row[key]) for key in ("wins", "draws", "losses")),
            str(row["different"]),
            str(row["given"] or ""),
        ]


def _mistakes(found: Row) -> Iterator[Table]:
    rows = [
        [
            *(str(each[key]) for key in ("ply", "judged", "mistakes")),
            _percent(each["mistakes"] / each["judged"]),
            "",
        ]
        for each in found["plies"]
        if each["mistakes"]
    ]
    if rows:
        yield "Mistakes by ply", rows


def _score_cells(cell: Row) -> list[str]:
    is_bounded = cell["elo_low"] is not None and cell["elo_high"] is not None
    gap = "" if cell["elo"] is None else f"{round(cell['elo']):+d}"
    return [
        str(_games(cell)),
        _percent(_share([cell[key] for key in ("wins", "draws", "losses")])),
        f"{gap}{'' if is_bounded or not gap else '?'}",
        _whole(cell["error"]),
        _percent(cell["los"]),
        "-".join(str(cell[key]) for key in ("wins", "draws", "losses")),
        _triple(cell["moving_first"]),
        _triple(cell["moving_second"]),
        str(cell["openings"]),
        f"{cell['forfeits']}-{cell['opponent_forfeits']}",
    ]


def _games(cell: Row) -> int:
    return sum(cell[key] for key in ("wins", "draws", "losses"))


def _loss_cells(loss: Row) -> list[str]:
    mistake = "" if loss["mistake"] is None else str(loss["mistake"])
    return [loss["side"], mistake, str(loss["plies"]), loss["ending"], _minute(loss["started_at"])]


def _triple(results: Iterable[int]) -> str:
    return "-".join(map(str, results))


def _share(results: Sequence[int]) -> float | None:
    return (results[0] + results[1] / 2) / sum(results) if sum(results) else None


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}%"


def _whole(number: float | None) -> str:
    return "" if number is None else f"{number:.0f}"


def _minute(t: float | str) -> str:
    moment = datetime.fromisoformat(t) if isinstance(t, str) else datetime.fromtimestamp(t).astimezone()
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
