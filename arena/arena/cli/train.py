"""`arena train`: a trainer makes weights for a bot; the run is shown live or as plain lines."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.exits import Exit
from arena.cli.options import MACHINES, db_option
from arena.cli.output import say
from arena.errors import ConfigError
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from rich.console import RenderableType
    from rich.live import Live

    from arena.training.metrics import Figure
    from arena.training.runs import Order, RunSettings
    from arena.training.training_session import Product

_OPTIONS = (
    click.option(
        "--recipe",
        metavar="NAME|FILE",
        help="Settings of the training.  [default: best, if the trainer has it]",
    ),
    click.option("--game", metavar="SPEC", help="The game.  [default: the recipe's, else connect-four]"),
    click.option(
        "--seed", type=int, metavar="N", help="Random seed.  [default: the recipe's, else drawn and printed]"
    ),
    click.option("--budget", type=float, metavar="S", help="End after S seconds of training."),
    click.option("--name", metavar="RUN", help="Name of the run; by default trainer and number."),
    click.option("--resume", metavar="RUN", help="Continue a run that was stopped or killed."),
    click.option("--from", "start", metavar="RUN", help="Begin a new run from the checkpoint of this one."),
    click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Copy the weights to FILE."),
    click.option(
        "--data", type=click.Path(path_type=Path), metavar="FOLDER", help="Exported matches to learn from."
    ),
    click.option("--store", "keeps_matches", is_flag=True, help="Store the matches of the run, unrated."),
    click.option(
        "--evaluate",
        "opponents",
        multiple=True,
        metavar="BOT",
        help="Measure the weights against BOT; may be repeated.",
    ),
    click.option(
        "--matches",
        type=click.IntRange(min=2),
        metavar="N",
        help="Matches against each bot of --evaluate.  [default: 200]",
    ),
    *MACHINES,
    db_option,
    click.option("--quiet", is_flag=True, help="Print only the result."),
)


@click.command(cls=RichCommand)
@click.argument("words", nargs=-1, metavar="TRAINER [OPTION=VALUE]...")
def train(
    words: tuple[str, ...],
    *,
    resume: str | None,
    keys: str | None,
    db: str | None,
    quiet: bool,
    **given: object,
) -> Exit:
    """Train weights for a bot; the bot can be entered at once, as BOT:weights=FILE.

    Ctrl-C writes a checkpoint; --resume RUN continues exactly there. Without TRAINER and --resume the
    trainers are listed.
    """
    from arena.errors import PluginError, StoreError
    from arena.training.runs import Order, drop_if_empty

    if not words and resume is None:
        return _list_trainers()
    trainer, options = (None, {}) if not words else (words[0], _options_of(words[1:]))
    command = _command(words, {key: given[key] for key in _DECISIVE})
    order = Order.of_options(trainer or "", options, command, given)
    folder, settings = _begin(order, keys) if resume is None else _go_on(resume, order, keys)
    try:
        return _sit(folder, settings, db, keys, quiet=quiet)
    except (ConfigError, PluginError, StoreError):
        # Any other error can be overcome, and says that --resume continues the run.
        if resume is None:
            drop_if_empty(folder)
        raise


for _option in reversed(_OPTIONS):
    train = _option(train)


def _begin(order: Order, keys: str | None) -> tuple[Path, RunSettings]:
    from arena.training.runs import make_folder, settle
    from arena.training.training_session import check

    settings = settle(order)
    # A trainer that refuses its options must leave no folder behind.
    check(settings, keys)
    return make_folder(settings, order.name), settings


def _go_on(name: str, order: Order, keys: str | None) -> tuple[Path, RunSettings]:
    import msgspec

    from arena.training.runs import find_run, same_options, write_settings
    from arena.training.training_session import check

    folder, settings = find_run(name)
    same_options(settings, order.options)
    for option, asked, was in (
        ("TRAINER", order.trainer or None, settings.trainer),
        ("--recipe", order.recipe, settings.recipe),
        ("--game", order.game, settings.game),
        ("--seed", order.seed, settings.seed),
        ("--name", order.name, name),
        ("--from", order.start, settings.start.partition(" ")[0]),
        ("--data", None if order.data is None else str(order.data.absolute()), settings.data),
    ):
        if asked not in {None, was}:
            raise ConfigError(f"the run {name} was begun with {option} {was}; to change it begin another run")
    changed = msgspec.structs.replace(settings, **order.wishes())
    check(changed, keys)
    if changed != settings:
        write_settings(folder, changed)
    return folder, changed


def _sit(folder: Path, settings: RunSettings, db: str | None, keys: str | None, *, quiet: bool) -> Exit:
    from arena.training.stopping import Stopped
    from arena.training.training_session import sit

    recipe = f" by the recipe {settings.recipe}" if settings.recipe else ""
    say(f"{folder.name}: {settings.trainer}{recipe}, {settings.game}, seed {settings.seed}", err=True)
    try:
        with _view_of(quiet=quiet) as view:
            product = sit(folder, settings, view, db=db, keys=keys)
    except Stopped:
        say(f"Training was stopped. To continue: arena train --resume {folder.name}", err=True)
        return Exit.STOPPED
    _report(product, folder)
    return Exit.COMPLETE


def _report(product: Product, folder: Path) -> None:
    for one in product.measured:
        first, second = one.score.first, one.score.second
        say(
            f"{product.spec} vs {one.opponent}:"
            f" {one.score.percent:.1f} % of {sum(first) + sum(second)} matches"
            f"; first {_side(first)}, second {_side(second)} (wins-losses-draws, 95 % of the wins);"
            f" {one.score.num_distinct} different"
        )
    say(f"{product.weights} after {product.seconds:.0f} s of training; figures and curves: {folder}")
    say(f"Enter it: arena match {product.spec} minimax")


def _side(counts: tuple[int, int, int]) -> str:
    from arena.rating.shares import wilson

    wins, draws, losses = counts
    low, high = wilson(wins, sum(counts))
    return f"{wins}-{losses}-{draws} [{low:.1f} % to {high:.1f} %]"


def _list_trainers() -> Exit:
    from arena.cli.output import print_table
    from arena.training.recipe import recipe_names
    from arena_plugins.entries import TRAINERS, list_plugins

    listing = list_plugins(TRAINERS)
    rows = [
        {"name": entry.name, "recipes": ", ".join(recipe_names(entry)) or None, "from": entry.distribution}
        for entry in listing.entries.values()
    ]
    print_table(rows, {"name": "Trainer", "recipes": "Recipes", "from": "From"})
    for problem in listing.problems:
        say(f"{problem.entry.name}: {problem.reason}", err=True)
    return Exit.COMPLETE


def _options_of(words: tuple[str, ...]) -> dict[str, str]:
    """Parse OPTION=VALUE words.

    Raises:
        BadParameter: a word has another form, or an option is given twice.
    """
    options: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key or key in options:
            reason = "is given twice" if key in options else "is not OPTION=VALUE"
            raise click.BadParameter(f"{word} {reason}", param_hint="'OPTION=VALUE'")
        options[key] = value
    return options


_DECISIVE = ("recipe", "game", "seed", "budget", "start")
"""Options that decide the result of a run."""


def _command(words: tuple[str, ...], given: Mapping[str, object]) -> str:
    """Return the command line of a run; `given` are the options that decide the result."""
    import shlex

    named = {"from" if key == "start" else key: value for key, value in given.items() if value is not None}
    options = [f"--{key} {shlex.quote(str(value))}" for key, value in named.items()]
    return " ".join(["arena train", *map(shlex.quote, words), *options])


_EVERY_S = 10.0
"""Seconds between two plain lines."""
_WINDOW_S = 0.5
"""Seconds between two updates of the live view."""
_NAME = 40
"""Maximum number of characters of a figure's name."""
_LINE = 500
"""Maximum number of characters shown of a line."""
_BAR = 30
"""Width of the bar, in characters."""


class TrainingView:
    """The view of a run: the newest value of each figure, progress, speed, time left."""

    def __init__(
        self, *, quiet: bool, live: Live | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._quiet = quiet
        self._live = live
        self._clock = clock
        self._figures: dict[str, Figure] = {}
        self._step = self._total = 0
        self._seconds = 0.0
        self._start: tuple[int, float] | None = None
        self._shown_at = clock()

    def figure(self, figure: Figure) -> None:
        """Record the newest value of a figure."""
        self._figures[figure.name] = figure

    def progress(self, step: int, total: int, seconds: float) -> None:
        """Record the progress of the run, and show it if the last update is old enough."""
        self._step, self._total, self._seconds = step, total, seconds
        if self._start is None:
            self._start = (step, seconds)
        now = self._clock()
        if self._quiet or now - self._shown_at < (_EVERY_S if self._live is None else _WINDOW_S):
            return
        self._shown_at = now
        if self._live is None:
            click.echo(self._line(), err=True)
        else:
            self._live.update(self._table(), refresh=True)

    def say(self, text: str) -> None:
        """Print a line, above the live view if there is one."""
        if self._quiet:
            return
        if self._live is None:
            say(text, err=True)
        else:
            self._live.console.print(clean_text(text, _LINE))

    def _rate(self) -> float:
        """Return the steps per second since this process started or resumed the run."""
        step, seconds = self._start or (0, 0.0)
        return (self._step - step) / max(self._seconds - seconds, 1e-9)

    def _left(self) -> str:
        rate = self._rate()
        return "-" if rate <= 0 else str(timedelta(seconds=round((self._total - self._step) / rate)))

    def _line(self) -> str:
        figures = "".join(f"  {name} {_number(figure)}" for name, figure in self._shown())
        percent = 100 * self._step // max(self._total, 1)
        return (
            f"step {self._step}/{self._total} ({percent}%)  {self._rate():.1f}/s  ETA {self._left()}{figures}"
        )

    def _shown(self) -> list[tuple[str, Figure]]:
        return [(clean_text(name, _NAME), figure) for name, figure in self._figures.items()]

    def _table(self) -> RenderableType:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=False, pad_edge=False)
        filled = _BAR * self._step // max(self._total, 1)
        bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] {100 * self._step // max(self._total, 1)}%"
        rows = [
            ("step", f"{self._step:,} of {self._total:,}"),
            ("", bar),
            ("rate", f"{self._rate():,.1f} steps/s"),
            ("time", f"{timedelta(seconds=round(self._seconds))}, left {self._left()}"),
            *((name, _number(figure)) for name, figure in self._shown()),
        ]
        for name, value in rows:
            table.add_row(Text(name, style="dim"), Text(value))
        return table


@contextmanager
def _view_of(*, quiet: bool) -> Generator[TrainingView]:
    """Yield the live view if stderr is a terminal, else one of plain lines."""
    if quiet or not sys.stderr.isatty():
        yield TrainingView(quiet=quiet, live=None)
        return
    from rich.console import Console
    from rich.live import Live

    # Drawn only when there is something new: a refresh thread of its own would take time from training.
    with Live(
        console=Console(stderr=True, markup=False, emoji=False, highlight=False),
        auto_refresh=False,
        transient=False,
    ) as live:
        yield TrainingView(quiet=False, live=live)


def _number(figure: Figure) -> str:
    return "-" if figure.value is None else f"{figure.value:.4g}"
