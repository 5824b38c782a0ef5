"""Alpha-beta kernels for Connect Four that narrow the bounds of a position's score.

A score is for the side to move: 0 for a draw, `n` for a win with the n-th last of the winner's stones, `-n`
for a loss to such a stone. It determines the number of plies to the end: see `distance_of` in
`arena.games.solver.connect_four_solver`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.bits import bit_number
from arena.games.kernels.compiling import inline_kernel, kernel
from arena.games.solver._counters import ABORTED, BUDGET, NODES
from arena.games.solver._memory import (
    LAST_NOTED,
    MOVES,
    STONE,
    find,
    keep,
    key_of,
    lower,
    note_refutation,
    success,
    upper,
)
from arena.games.solver._ordering import merit
from arena.games.solver._stones import (
    COLUMN,
    NUM_ACTIONS,
    NUM_CELLS,
    STRIDE,
    cannot_win,
    count,
    follow_up,
    landings,
    promise,
    threats,
    zugzwang,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COLUMNS = tuple(COLUMN << STRIDE * column for column in (3, 2, 4, 1, 5, 0, 6))
"""Cells of each column, central columns first, since stones there take part in more fours."""
_LAST_LOOK = 34
"""From this ply on, the table is not probed for the positions after each move: searching them is as fast."""
_LEARNED = 18
"""Before this ply, moves are ordered by `merit`, later by `promise`: only one node in five hundred is so
early."""
_LIFT = 1024
"""Added to the value of a move to make it positive; larger than the magnitude of any negative value."""
_MOST_BY_PAIRS = 3
"""Largest result of `follow_up`."""
_MOST_BY_ZUGZWANG = 2
"""Largest result of `zugzwang`."""
_NONE = -99
"""Below every score; stands for an unknown score."""
_CENTRALITY_AT = 49
"""Lowest bit of a column's centrality (3 bits) in an item of a move list, above the 49 bits of a stone."""
_WORTH_AT = 52
"""Lowest bit of the sort key. With `_LIFT` it has 11 bits, so an item fits 63 bits and is never negative."""
_DECIDED = 0
"""Returned in place of a list length: one of the moves leaves the opponent no safe reply."""


@inline_kernel
def worst(ply: int) -> int:
    """Return the score of a loss to the opponent's next stone."""
    return -((NUM_CELLS - ply) >> 1)


@inline_kernel
def best(ply: int) -> int:
    """Return the score of a win with the next stone."""
    return (NUM_CELLS + 1 - ply) >> 1


# All windows are null windows: the score is above `alpha` exactly if that of the reply is not above
# `-alpha - 1`. The opponent's threats stay, except on the cell just taken, so a reply gets them and need not
# compute them. An aborted search stores nothing: a bound from only some of the moves would be wrong later.
@kernel
def search(  # noqa: C901, PLR0911, PLR0912 # one function: kernels cannot call each other in a circle
    memory: NDArray[np.int64], own: int, mask: int, ply: int, alpha: int, chances: int
) -> int:
    """Return a bound that shows whether the score is above `alpha`: a lower one if it is, else an upper one.

    The side to move must have no stone that wins at once.

    Args:
        memory: memory of the search; its counters and tables are updated.
        own: stones of the side to move.
        mask: all stones.
        ply: number of stones.
        alpha: the score to compare with.
        chances: threats of the side to move, which the caller knows already.
    """
    nodes = memory[NODES]
    memory[NODES] = nodes + 1
    if nodes >= memory[BUDGET]:
        return ABORTED
    opp = own ^ mask
    dangers = threats(opp, mask)
    moves = safe_moves(mask, dangers)
    if moves == 0:  # whatever is played, the opponent wins with its next stone
        return worst(ply)
    if ply >= NUM_CELLS - 2:  # at most two cells are left, and neither side wins with its own
        return 0
    if moves & (moves - 1) == 0:  # a forced move needs no table and no order
        found = search(memory, opp, mask | moves, ply + 1, -alpha - 1, dangers & ~moves)
        return found if found == ABORTED else -found
    low, high = worst(ply + 2), best(ply + 2)  # the next stone does not win, nor one after a safe move
    if low > alpha or high <= alpha:
        return low if low > alpha else high
    key = key_of(own, mask, ply)
    entry = find(memory, key, ply)
    if entry:
        low, high = max(low, lower(entry)), min(high, upper(entry))
        if low > alpha or high <= alpha:
            return low if low > alpha else high
    found = _seen(own, mask, ply, alpha, chances, dangers)  # after the table, which takes less time
    if found != _NONE:
        return found
    found = _refuted(memory, opp, mask, ply, moves, alpha)  # `_NONE`, if any, is below every score
    if found > alpha:
        return found
    length = _rank(memory, own, mask, ply, moves, dangers)
    # Without such a move, the earliest win is two stones later.
    if length == _DECIDED or best(ply + 4) <= alpha:
        return best(ply + 2) if length == _DECIDED else best(ply + 4)
    for move in range(_place(ply), _place(ply) + length):
        stone = memory[move] & STONE
        reply = search(memory, opp, mask | stone, ply + 1, -alpha - 1, dangers & ~stone)
        if reply == ABORTED:
            return ABORTED
        found = max(found, -reply)
        if found > alpha:
            note_refutation(memory, ply, move)
            break
    low, high = (max(low, found), min(high, best(ply + 4))) if found > alpha else (low, min(high, found))
    keep(memory, key, ply, low, high, memory[NODES] - nodes)
    return found


@inline_kernel
def safe_moves(mask: int, dangers: int) -> int:
    """Return the stones after which the opponent cannot win at once; `dangers` are the opponent's threats."""
    # Two immediate threats cannot both be blocked, and a stone below a threat allows it.
    moves = landings(mask)
    forced = moves & dangers
    if forced:
        # `x & (x - 1)` clears the lowest bit: it is 0 if there was only one.
        moves = forced if forced & (forced - 1) == 0 else 0
    return moves & ~(dangers >> 1)


@inline_kernel
def _seen(own: int, mask: int, ply: int, alpha: int, chances: int, dangers: int) -> int:
    """Return a bound from simple rules if it decides the comparison with `alpha`, else `_NONE`.

    `chances` are the threats of the side to move, `dangers` the opponent's.
    """
    opp = own ^ mask
    # The rules are about the first and the second player; at odd plies the second one is to move.
    if ply & 1:
        first, second, first_claims, second_claims, least = opp, own, dangers, chances, -alpha - 1
    else:
        first, second, first_claims, second_claims, least = own, opp, chances, dangers, alpha
    found = _NONE
    # Each rule runs only if the largest score that it can show would decide the comparison with `alpha`.
    if least >= -_MOST_BY_PAIRS:
        sure = follow_up(first, second, mask, second_claims)
        if sure >= max(0, -least):
            found = -sure
    if found == _NONE and first_claims and least < _MOST_BY_ZUGZWANG:
        sure = zugzwang(second, mask, first_claims)
        if sure > max(0, least):
            found = sure
    if found == _NONE and least < 0 and cannot_win(second, mask):
        found = 0
    return -found if ply & 1 and found != _NONE else found


@inline_kernel
def _place(ply: int) -> int:
    """Return the start of a ply's move list in memory."""
    return MOVES + NUM_ACTIONS * ply


@inline_kernel
def _refuted(memory: NDArray[np.int64], opp: int, mask: int, ply: int, moves: int, alpha: int) -> int:
    """Return a lower bound above `alpha` that the table proves for one of `moves`, or `_NONE`.

    Probing all of them first also prefetches the entries that the search needs next.
    """
    while moves and ply < _LAST_LOOK:
        stone = moves & -moves
        moves ^= stone
        entry = find(memory, key_of(opp, mask | stone, ply + 1), ply + 1)
        # An upper bound of the opponent's score is a lower bound of this side's.
        if entry and -upper(entry) > alpha:
            return -upper(entry)
    return _NONE


@inline_kernel
def _rank(memory: NDArray[np.int64], own: int, mask: int, ply: int, moves: int, dangers: int) -> int:
    """Write the single stones of `moves` to memory, best first; return their number.

    Returns `_DECIDED` at a stone after which every reply loses at once. Ordering computes the threats of each
    stone anyway, so this test is almost free. It saves the last two plies before the horizon: a fifth of all
    nodes on random positions at plies 9 and 10.

    An item has the stone in its lower 49 bits, above it the centrality of its column (3 bits), above that the
    sort key.
    """
    place = _place(ply)
    length = 0
    for number in range(NUM_ACTIONS):
        stone = moves & _COLUMNS[number]
        if stone:
            after = mask | stone
            if safe_moves(after, threats(own | stone, after)) == 0:
                return _DECIDED
            if ply < _LEARNED:
                worth = merit(memory, own, mask, ply, stone, dangers)
            else:
                worth = promise(own, mask, stone, dangers)
            if ply < LAST_NOTED:
                worth = min(max(worth + success(memory, ply, stone), 1 - _LIFT), _LIFT - 1)
            item = _LIFT + worth << _WORTH_AT | (NUM_ACTIONS - 1 - number) << _CENTRALITY_AT | stone
            at = place + length
            # Insertion sort: lists have at most seven items.
            while at > place and memory[at - 1] < item:
                memory[at] = memory[at - 1]
                at -= 1
            memory[at] = item
            length += 1
    return length


@kernel
def narrow(
    memory: NDArray[np.int64],
    bounds: NDArray[np.int64],
    own: int,
    mask: int,
    exact: bool,  # noqa: FBT001 # kernels take no keywords
) -> bool:
    """Narrow `bounds` to the score of a position that is not over; return False if the budget is used up.

    Unless `exact`, it stops when win, draw or loss is certain. It uses null windows around the last answer,
    starting between draw and win, as in MTD(f) (Plaat et al., Best-first fixed-depth minimax algorithms,
    1996).

    Args:
        memory: memory of the search.
        bounds: smallest and largest possible score; updated in place; `[2]`.
        own: stones of the side to move.
        mask: all stones.
        exact: whether the distance is wanted.
    """
    ply = count(mask)
    chances = threats(own, mask)
    if chances & landings(mask):
        bounds[0] = bounds[1] = best(ply)
        return True
    if ply == NUM_CELLS - 1:
        bounds[0] = bounds[1] = 0
        return True
    bounds[0] = max(bounds[0], worst(ply))
    bounds[1] = min(bounds[1], best(ply + 2))
    guess = 0
    while bounds[0] < bounds[1] and (exact or bounds[0] <= 0 <= bounds[1]):
        # Each answer moves one bound past `alpha`, so the loop ends even if the guess is bad.
        alpha = min(max(guess, bounds[0]), bounds[1] - 1)
        found = search(memory, own, mask, ply, alpha, chances)
        if found == ABORTED:
            return False
        if found > alpha:
            bounds[0] = guess = found
        else:
            bounds[1], guess = found, found - 1
    return True


@kernel
def instant_win(own: int, mask: int) -> int:
    """Return the score of a position in which the side to move wins with its next stone, else 0."""
    return best(count(mask)) if threats(own, mask) & landings(mask) else 0


@kernel
def forced_action(own: int, mask: int) -> int:
    """Return the only action after which the opponent cannot win at once; -1 if there are more or none.

    Also -1 if an action wins at once.
    """
    moves = safe_moves(mask, threats(own ^ mask, mask))
    if moves == 0 or moves & (moves - 1) or threats(own, mask) & landings(mask):
        return -1
    return int(bit_number(np.uint64(moves))) // STRIDE


@kernel
def rate_actions(memory: NDArray[np.int64], own: int, mask: int, merits: NDArray[np.int64]) -> None:
    """Write the merits of the legal actions to `merits`; see `merit`; `[7]`."""
    dangers = threats(own ^ mask, mask)
    moves = landings(mask)
    while moves:
        stone = moves & -moves
        moves ^= stone
        merits[bit_number(np.uint64(stone)) // STRIDE] = merit(memory, own, mask, count(mask), stone, dangers)


@kernel
def decide(
    memory: NDArray[np.int64],
    own: NDArray[np.int64],
    mask: NDArray[np.int64],
    nodes: int,
    bounds: NDArray[np.int64],
) -> None:
    """Narrow the scores of many positions, none of them over, until their outcomes are certain.

    Args:
        memory: memory of the search.
        own: stones of the side to move; `[positions]`.
        mask: all stones; `[positions]`.
        nodes: budget of each position.
        bounds: receives the smallest and largest scores; `[positions, 2]`.
    """
    for position in range(len(own)):
        memory[BUDGET] = memory[NODES] + nodes
        found = bounds[position]
        found[0], found[1] = worst(0), best(0)
        narrow(memory, found, own[position], mask[position], False)  # noqa: FBT003 # kernels take no keywords


@kernel
def narrow_actions(
    memory: NDArray[np.int64],
    own: NDArray[np.int64],
    mask: NDArray[np.int64],
    nodes: int,
    exact: bool,  # noqa: FBT001 # kernels take no keywords
    bounds: NDArray[np.int64],
) -> None:
    """Narrow the scores of all actions in many positions, for the side that plays them.

    Args:
        memory: memory of the search.
        own: stones of the side to move; `[positions]`.
        mask: all stones; `[positions]`.
        nodes: budget of each position.
        exact: whether distances are wanted.
        bounds: receives the smallest and largest scores; illegal actions are not written; `[positions, 7,
            2]`.
    """
    for position in range(len(own)):
        here, occupied = own[position], mask[position]
        ply = count(occupied)
        memory[BUDGET] = memory[NODES] + nodes
        for number in range(NUM_ACTIONS):
            stone = landings(occupied) & _COLUMNS[number]
            if stone == 0:
                continue
            found = bounds[position, bit_number(np.uint64(stone)) // STRIDE]
            found[0], found[1] = worst(0), best(0)
            if threats(here, occupied) & stone:
                found[0] = found[1] = best(ply)
            elif ply == NUM_CELLS - 1:
                found[0] = found[1] = 0
            else:
                narrow(memory, found, here ^ occupied, occupied | stone, exact)
                # From the view of the side that played the action.
                found[0], found[1] = -found[1], -found[0]
