"""Prints a plan without playing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.cli.output import emit_object, say
from arena.coordinator.kinds import planned_beforehand
from arena.games.notation import format_moves

if TYPE_CHECKING:
    from arena.coordinator.plan import Plan


def print_plan(plan: Plan, form: str) -> None:
    """Print the planned matches, one a line; `form` is text or ndjson."""
    labels = [competitor.label for competitor in plan.competitors]
    source, num_matches = plan.source, 0
    for match in () if source is None else planned_beforehand(source, len(labels)):
        num_matches += 1
        first, second = labels[match.first], labels[match.second]
        round_ = match.match_no // plan.config.games + 1
        opening = format_moves(plan.game, match.opening)
        if form == "text":
            say(f"{match.number} {first} vs {second}  round {round_}  {opening or '-'}")
        else:
            values = {"number": match.number, "round": round_, "first": first, "second": second}
            emit_object("planned_match", {**values, "opening": opening, "actions": match.opening})
    say(f"{num_matches} matches, {plan.limit}, {plan.tier}, seed {plan.config.srand}", err=True)
