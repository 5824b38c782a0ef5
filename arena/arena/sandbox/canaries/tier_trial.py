"""One trial of a tier: runs all attacks in it and judges each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arena.sandbox.attacks.promises import ATTACKS
from arena.sandbox.canaries.attackers import read_reports, send_order
from arena.sandbox.canaries.bait import set_out
from arena.sandbox.canaries.filled import fills_scratch, hides_memory, misleads_removal
from arena.sandbox.canaries.orphans import orphans
from arena.sandbox.canaries.pausing import ALLOWED_S, idle_cpu_s
from arena.sandbox.canaries.signs import Signs

if TYPE_CHECKING:
    from arena.sandbox.tier import Tier

_LAST = 9
"""The attack that runs last, because it kills the opponent, which the others need alive."""
_SLOW = {23: misleads_removal, 24: fills_scratch, 36: hides_memory}
QUICK = frozenset(attack.number for attack in ATTACKS if attack.is_quick)
ALL = frozenset(attack.number for attack in ATTACKS)


class Outcomes(NamedTuple):
    """The results of a trial."""

    worked: frozenset[int]
    """The attacks whose canary was hurt, or that were not made; 0 if the control failed."""
    user: int | None
    """The user id the attacker ran as; None if it was the arena's."""
    errors: dict[int, str]
    """The errors the attacker got, by attack; for display, not used to judge."""
    tried: frozenset[int] = QUICK
    """The attacks that were made, or should have been."""


def try_attacks(tier: Tier, numbers: frozenset[int] = QUICK) -> Outcomes:
    """Run attacks in processes of this tier.

    Args:
        tier: the isolation tier.
        numbers: the attacks to run, `QUICK` or `ALL`.

    Raises:
        OSError, ConfigError: the tier cannot be set up at all.
    """
    if numbers <= QUICK:
        worked, errors, user = _try_quick(tier)
        return Outcomes(frozenset(worked), user, errors)
    with orphans(tier) as arena:
        # The other arena starts meanwhile, and its remaining processes have time to end.
        worked, errors, user = _try_quick(tier)
        arena.kill_arena()
        used = idle_cpu_s(tier)
        if used is None or used > ALLOWED_S:
            worked.add(29)
        worked |= {number for number, has_worked in _SLOW.items() if has_worked(tier)}
        worked |= arena.worked()
    return Outcomes(frozenset(worked), user, errors, ALL)


def _try_quick(tier: Tier) -> tuple[set[int], dict[int, str], int | None]:
    chosen = [attack for attack in ATTACKS if attack.is_quick]
    chosen.sort(key=lambda attack: attack.number == _LAST)
    with set_out(tier) as there:
        signs = Signs(there)
        send_order(there.attacker, there.targets, [(str(each.number), each.function) for each in chosen])
        reports = read_reports(there.attacker, there.pulse)
        signs.end()
        worked = signs.of_attacks(reports)
        user = there.attacker.user
    missing = {each.number for each in chosen if str(each.number) not in reports}
    errors = {int(key): str(report["error"]) for key, report in reports.items() if report["error"]}
    return worked | missing, errors, user
