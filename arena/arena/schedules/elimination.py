"""Shapes of knockouts: their encounters, and the origin of the bots in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

THIRD_PLACE = "third place"
FINAL = "final"
SECOND_FINAL = "second final"
_NAMES = {1: FINAL, 2: "semifinal", 4: "quarterfinal"}
"""Names of rounds by their number of encounters."""


class SlotOrigin(NamedTuple):
    """The origin of a bot in a tie."""

    kind: Literal["seed", "winner", "loser"]
    number: int
    """Seat of a seed, from 0; otherwise index of the tie."""


class TieShape(NamedTuple):
    """An encounter of a knockout, independent of the bots in it."""

    round_name: str
    """Name of the round, such as semifinal, or losers' round 2."""
    name: str
    """Unique name, such as semifinal 1, or losers' round 2, encounter 1."""
    stage: int
    """From 0; ties of one stage are played at the same time, after those of earlier stages are decided."""
    slots: tuple[SlotOrigin, SlotOrigin]
    """The first one is drawn at the top."""
    out: int = 0
    """0 if the loser stays in the tournament; otherwise higher numbers mean better places of the loser."""


def fold(size: int) -> list[int]:
    """Return the seeds from top to bottom of a bracket, from 0; `size` is a power of two.

    If all better seeds win, the best remaining seed meets the worst in each round, so the first two meet
    last.
    """
    order = [0]
    while len(order) < size:
        # Each seed gets the opponent with which the sum of both is constant: the best meets the worst.
        order = [seed for each in order for seed in (each, 2 * len(order) - 1 - each)]
    return order


def single_elimination(num_bots: int, *, third_place: bool = False) -> list[TieShape]:
    """Return the ties of a knockout, each after those it waits for, the final last.

    Args:
        num_bots: 2 or more; if it is not a power of two, the top seeds have byes.
        third_place: whether the losers of the semifinals meet; with two bots there are none.
    """
    found: list[TieShape] = []
    slots = _seeds(num_bots)
    while len(slots) > 1:
        num = len(slots) // 2
        name = _NAMES.get(num, f"round of {2 * num}")
        is_before_third = third_place and num == 2  # noqa: PLR2004 # semifinals
        if third_place and num == 1 and found:
            # Before the final, so that the final is the last tie.
            losers = [SlotOrigin("loser", origin.number) for origin in slots]
            _add_round(found, THIRD_PLACE, losers, out=1 + _last_out(found))
        slots = _add_round(found, name, slots, out=0 if is_before_third or num == 1 else 1 + _last_out(found))
    return found


def double_elimination(num_bots: int) -> list[TieShape]:
    """Return the ties of a knockout in which a bot is out after two defeats, each after its predecessors.

    Losers of the winners' bracket enter the losers' bracket from its other end, so that bots that have met
    meet again late. The last tie is the second final, which is needed if the bot without a defeat loses the
    first one.
    """
    found: list[TieShape] = []
    winners = _seeds(num_bots)
    losers: list[SlotOrigin] = []
    number = level = 0
    while len(winners) > 1:
        number += 1
        winners = _add_round(found, f"winners' round {number}", winners)
        dropped = [SlotOrigin("loser", origin.number) for origin in winners]
        if number == 1:
            losers = dropped
            continue
        level += 2
        losers = _add_round(found, f"losers' round {level - 1}", losers, out=level - 1)
        # A losers' round among themselves halves their number, then they meet as many losers of the winners'
        # bracket.
        meets = [slot for pair in zip(losers, reversed(dropped), strict=True) for slot in pair]
        losers = _add_round(found, f"losers' round {level}", meets, out=level)
    _add_round(found, FINAL, [*winners, *losers])
    last = len(found) - 1
    _add_round(found, SECOND_FINAL, [SlotOrigin("winner", last), SlotOrigin("loser", last)])
    return found


def _seeds(num_bots: int) -> list[SlotOrigin]:
    """Return the slots of the first round; those of seeds from `num_bots` on are byes."""
    # The least power of two that has a slot for each bot.
    return [SlotOrigin("seed", seed) for seed in fold(1 << (num_bots - 1).bit_length())]


def _last_out(found: Sequence[TieShape]) -> int:
    return max((tie.out for tie in found), default=0)


def _add_round(
    found: list[TieShape], name: str, slots: Sequence[SlotOrigin], *, out: int = 0
) -> list[SlotOrigin]:
    """Add the ties of a round, each of two consecutive slots, and return their winners."""
    begin = len(found)
    pairs = list(zip(slots[::2], slots[1::2], strict=True))
    sep = " " if name in _NAMES.values() else ", encounter "
    for number, pair in enumerate(pairs, 1):
        stage = 1 + max((found[slot.number].stage for slot in pair if slot.kind != "seed"), default=-1)
        found.append(TieShape(name, name if len(pairs) == 1 else f"{name}{sep}{number}", stage, pair, out))
    return [SlotOrigin("winner", at) for at in range(begin, len(found))]
