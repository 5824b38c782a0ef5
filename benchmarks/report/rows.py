"""The rows of the benchmark table: what is compared, where the figures are found, and the targets."""

from __future__ import annotations

from typing import NamedTuple

KAGGLE = "kaggle-environments"
PLIES = 21.3
"""Mean length of a random match of Connect Four, in plies."""


class Figure(NamedTuple):
    """The place of a figure in a script's document."""

    script: str
    path: str
    """Keys, joined by dots."""


class Row(NamedTuple):
    """One row of the table."""

    key: str
    point: str
    unit: str
    """Unit of `ours` and `theirs`."""
    ours: Figure
    peer: str = ""
    """Name of the peer; empty if the row has none."""
    theirs: Figure | None = None
    ratio: Figure | None = None
    """The ratio as measured in alternating runs; if None, it is computed from ours and theirs."""
    asked: float | None = None
    """Target for the ratio: times as fast, or as cheap."""
    most: float | None = None
    """Upper bound of our own figure."""
    least: float | None = None
    """Lower bound of our own figure."""
    per_match: float | None = None
    """If set, theirs is in matches per second, converted to microseconds per move of matches this long."""

    @property
    def is_cost(self) -> bool:
        """Whether a lower figure is better."""
        return not self.unit.endswith("/s")


def _refereed(peer: str, module: str, asked: float | None, game: str = "connect-four") -> Row:
    base = f"games.{game}"
    return Row(
        f"refereed/{game}/{module}",
        f"refereed {game}, in process",
        "matches/s",
        Figure("refereed_play.py", f"{base}.matches_per_cpu_s.refereed_fresh_answers"),
        peer,
        Figure("refereed_play.py", f"{base}.matches_per_cpu_s.{module}"),
        Figure("refereed_play.py", f"{base}.times_as_fast_as.{module}.refereed_fresh_answers"),
        asked,
    )


def _search(playouts: int) -> Row:
    return Row(
        f"uct/{playouts}",
        f"UCT, {playouts} playouts a move",
        "playouts/s",
        Figure("search_speed.py", f"per_cpu_s.uniform_{playouts}"),
        "OpenSpiel `MCTSBot`, C++",
        Figure("search_speed.py", f"per_cpu_s.openspiel_{playouts}"),
        Figure("search_speed.py", f"ratio.uniform_{playouts}"),
        25,
    )


def _solver(ply: int, asked: float | None) -> Row:
    return Row(
        f"solver/{ply}",
        f"exact solver, {ply} stones or more",
        "positions/s",
        Figure("solver_speed.py", f"ply_{ply}_and_later.positions_per_cpu_s"),
        "BitBully, C++",
        ratio=Figure("solver_speed.py", f"ply_{ply}_and_later.ratio_to_oracle"),
        asked=asked,
    )


def _net(batch: int, asked: float, *, whole: bool = False) -> Row:
    ours = "int8" if whole else "onnx"
    return Row(
        f"net/{'int8/' * whole}{batch}",
        f"evaluations of the AlphaZero paper's net{', quantised' * whole}, {batch} at once",
        "positions/s",
        Figure("net_speed.py", f"per_cpu_s.{ours}_{batch}"),
        "PyTorch, eager",
        Figure("net_speed.py", f"per_cpu_s.torch_{batch}"),
        Figure("net_speed.py", f"ratio.{'int8_' * whole}{batch}"),
        asked,
    )


def _selfplay(name: str, point: str, asked: float) -> tuple[Row, Row]:
    ours = Figure("net_speed.py", f"per_cpu_s.{name}")
    return (
        Row(
            f"selfplay/{name}/alpha-zero-general",
            point,
            "positions/s",
            ours,
            "alpha-zero-general, 100 simulations a move",
            Figure("net_speed.py", "per_cpu_s.alpha_zero_general"),
            Figure("net_speed.py", f"ratio.{name}_to_alpha_zero_general"),
            asked,
        ),
        Row(
            f"selfplay/{name}",
            point,
            "positions/s",
            ours,
            "our search, one match at a time, PyTorch, 100 simulations a move",
            Figure("net_speed.py", "per_cpu_s.selfplay_torch_alone"),
            Figure("net_speed.py", f"ratio.{name}"),
        ),
    )


def _alphabeta(place: str, depth: int) -> Row:
    figure = f"{place}_d{depth}"
    return Row(
        f"alphabeta/{place}/{depth}",
        f"alpha-beta, depth {depth}, {place} board",
        "ms",
        Figure("alphabeta_speed.py", f"{figure}.ms"),
        "our own search on plain states",
        Figure("alphabeta_speed.py", f"{figure}.plain_ms"),
        Figure("alphabeta_speed.py", f"{figure}.ratio"),
    )


ROWS = (
    _refereed("OpenSpiel, bare Python loop", "openspiel_loop", 0.7),
    _refereed("OpenSpiel, its Python bots", "openspiel_python_bots", 5),
    _refereed("PettingZoo", "pettingzoo", 45),
    _refereed(KAGGLE, "kaggle_environments", 1200),
    _refereed("OpenSpiel, bare Python loop", "openspiel_loop", None, "tic-tac-toe"),
    _refereed("OpenSpiel, its Python bots", "openspiel_python_bots", None, "tic-tac-toe"),
    _refereed("PettingZoo", "pettingzoo", None, "tic-tac-toe"),
    Row(
        "bulk/pgx",
        "compiled random play for training data",
        "matches/s",
        Figure("bulk_speed.py", "matches_per_cpu_s"),
        "pgx, best batch",
        Figure("bulk_speed.py", "pgx_matches_per_cpu_s"),
        Figure("bulk_speed.py", "ratio"),
        20,
        least=5_000_000,
    ),
    Row(
        "hosted/move",
        "the referee's CPU of a hosted move",
        "µs",
        Figure("referee_cost.py", "move_us.quick.T2.referee_cpu"),
        f"{KAGGLE}, bots in process",
        Figure("refereed_play.py", "games.connect-four.matches_per_cpu_s.kaggle_environments"),
        most=25,
        per_match=PLIES,
    ),
    _search(1000),
    _search(10_000),
    _solver(14, 1),
    _solver(18, 1),
    _solver(22, 1),
    Row(
        "store/bulk",
        "stored matches, in bulk",
        "matches/s",
        Figure("plain_store.py", "written_per_cpu_s.store"),
        "a row for each move, SQLAlchemy",
        Figure("plain_store.py", "written_per_cpu_s.row_per_move"),
        Figure("plain_store.py", "written_per_cpu_s.ratio"),
        least=500_000,
    ),
    Row(
        "store/grouped",
        "stored matches by the clock, 50 to a synced commit",
        "matches/s",
        Figure("store.py", "grouped_per_wall_s"),
        least=5000,
    ),
    Row(
        "store/leaderboard",
        "leaderboard over a million matches",
        "ms",
        Figure("plain_store.py", "leaderboard_ms.store"),
        "counting all matches in SQL",
        Figure("plain_store.py", "leaderboard_ms.scan"),
        Figure("plain_store.py", "leaderboard_ms.ratio"),
        most=5,
    ),
    Row(
        "start/help",
        "`arena --help`",
        "s",
        Figure("start_speed.py", "cpu_s.help"),
        f"import of {KAGGLE}",
        Figure("start_speed.py", "cpu_s.kaggle_import"),
        Figure("start_speed.py", "ratio"),
        most=0.2,
    ),
    Row(
        "start/mcts-compiled",
        "first move of `mcts` in a fresh process, kernels to be compiled",
        "s",
        Figure("start_speed.py", "first_move_cpu_s.mcts.compiled"),
        most=3,
    ),
    Row(
        "start/mcts-loaded",
        "first move of `mcts` in a fresh process, kernels compiled before",
        "s",
        Figure("start_speed.py", "first_move_cpu_s.mcts.loaded"),
        most=1,
    ),
    Row(
        "start/first-match",
        "first stored match of a hosted tournament, by the clock",
        "s",
        Figure("referee_cost.py", "first_stored_match_s"),
        most=2,
    ),
    _net(1, 4.5),
    _net(64, 2),
    _net(1, 8, whole=True),
    _net(64, 6, whole=True),
    *_selfplay("selfplay", "self-play in lockstep, 100 simulations a move", 8),
    *_selfplay("selfplay_gumbel", "self-play in lockstep, with the search of the training", 25),
    Row(
        "classifier/move",
        "a move of the classifier",
        "ms",
        Figure("classifier_speed.py", "move_ms.ours"),
        "`model.predict`, one position after the other",
        Figure("classifier_speed.py", "move_ms.predict"),
        Figure("classifier_speed.py", "ratio"),
        3000,
    ),
    _alphabeta("empty", 5),
    _alphabeta("middle", 5),
    Row(
        "isolation/start",
        "start of a sandboxed process",
        "ms",
        Figure("isolation_cost.py", "median.T2.start_ms"),
    ),
    Row(
        "isolation/move",
        "round trip of a move to a sandboxed process, on any core",
        "µs",
        Figure("isolation_cost.py", "median.T2.move_us"),
    ),
)
