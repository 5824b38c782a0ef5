"""`arena train`: a trainer makes weights for a bot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.exits import Exit
from arena.cli.options import MACHINES, db_option
from arena.cli.output import say
from arena.errors import ArenaError, ConfigError

if TYPE_CHECKING:
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
        "--evaluate", multiple=True, metavar="BOT", help="Measure the weights against BOT; may be repeated."
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
def train(  # noqa: PLR0913 - one parameter an option
    words: tuple[str, ...],
    *,
    recipe: str | None,
    game: str | None,
    seed: int | None,
    budget: float | None,
    name: str | None,
    resume: str | None,
    start: str | None,
    out: Path | None,
    data: Path | None,
    keeps_matches: bool,
    evaluate: tuple[str, ...],
    matches: int | None,
    executor: str | None,
    keys: str | None,
    cluster: str | None,
    db: str | None,
    quiet: bool,
) -> Exit:
    """Train weights for a bot; the bot can be entered at once, as BOT:weights=FILE.

    Ctrl-C writes a checkpoint; --resume RUN continues exactly there. Without TRAINER and --resume the
    trainers are listed.
    """
    from arena.training.runs import Order

    if not words and resume is None:
        return _list_trainers()
    trainer, options = (None, {}) if not words else (words[0], _options_of(words[1:]))
    order = Order(
        trainer=trainer or "",
        options=options,
        recipe=recipe,
        game=game,
        seed=seed,
        budget=budget,
        data=data,
        name=name,
        start=start,
        command=_command(words, recipe=recipe, game=game, seed=seed, budget=budget, start=start),
        out=out,
        opponents=evaluate,
        matches=matches,
        keeps_matches=keeps_matches,
        executor=executor,
        cluster=cluster,
    )
    folder, settings = _begin(order, keys) if resume is None else _go_on(resume, order, keys)
    return _sit(folder, settings, db, keys, quiet=quiet)


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
    from arena.cli.training_view import view_of
    from arena.training.runs import drop_if_empty
    from arena.training.stopping import Stopped
    from arena.training.training_session import sit

    recipe = f" by the recipe {settings.recipe}" if settings.recipe else ""
    say(f"{folder.name}: {settings.trainer}{recipe}, {settings.game}, seed {settings.seed}", err=True)
    try:
        with view_of(quiet=quiet) as view:
            product = sit(folder, settings, view, db=db, keys=keys)
    except Stopped:
        say(f"Training was stopped. To go on: arena train --resume {folder.name}", err=True)
        return Exit.STOPPED
    except ArenaError:
        drop_if_empty(folder)
        raise
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


def _command(words: tuple[str, ...], **given: object) -> str:
    """Return the command line again, limited to what decides the result of a run."""
    import shlex

    given["from"] = given.pop("start", None)
    options = [f"--{key} {shlex.quote(str(value))}" for key, value in given.items() if value is not None]
    return " ".join(["arena train", *map(shlex.quote, words), *options])
