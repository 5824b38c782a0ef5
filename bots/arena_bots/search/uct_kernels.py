"""Kernels that grow a UCT tree: on boards of cells of any size, and on boards that fit into a 64-bit word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.bits import bit_number
from arena.games.kernels.cell_playouts import landing, makes_line, uniform_cell_playout
from arena.games.kernels.cell_tactics import note_threats, tactical_cell_playout, urgent
from arena.games.kernels.cells import EMPTY, MOVER, OTHER
from arena.games.kernels.compiling import inline_kernel, kernel
from arena.games.kernels.playouts import tactical_playout, uniform_playout
from arena.games.kernels.rules import completing, has_line, land, landings
from arena_bots.search.uct_tree import DRAW, LOSS, UNKNOWN, WIN, back_up, is_end, select, settle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.cells import CellLayout
    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout
    from arena_bots.search.uct_tree import Selection


@kernel
def grow_cells(
    nodes: NDArray[np.void],
    size: Int,
    playouts: Int,
    pause: Int,
    boards: NDArray[np.uint8],
    num_empty: Int,
    threats: NDArray[np.uint16],
    layout: CellLayout,
    rule: Selection,
    is_uniform: bool | None,  # noqa: FBT001 # numba passes arguments by position
    proves: bool,  # noqa: FBT001
    path: NDArray[np.uint32],
    free: NDArray[np.uint16],
    chance: NDArray[np.uint64],
) -> tuple[Int, Int]:
    """Make `playouts` from the root; return the number of nodes and of playouts made, as `Board.grow` does.

    `boards[0]` is the root's board with `num_empty` empty cells, `threats[0]` its threats; `boards[1]` and
    `threats[1]` are scratch space for playouts. `path` is scratch space `[max_length + 1]`, `free`
    `[num_actions]`. If `is_uniform` is None, rollouts are tactical, and only those are compiled.
    """
    # A node may get as many children as there are actions, so that much space must be left.
    room = len(nodes) - layout.num_actions
    board, threat = boards[1], threats[1]
    for made in range(playouts):
        has_room = size <= room
        if size >= pause or (proves and nodes[0].proof):
            return size, made
        _restore(boards, threats)
        stone = MOVER
        node, depth, place = 0, 0, 0
        path[0] = 0
        while True:
            if not nodes[node].count:
                # A leaf gets children at its second visit; the first visit ends here and plays it out.
                if node and (not nodes[node].visits or is_end(nodes, node) or not has_room):
                    break
                size = _expand(nodes, size, node, board, layout)
            chance[0], node = select(nodes, node, rule, chance[0])
            place = landing(board, np.int64(nodes[node].action), layout)
            board[place] = stone
            # Uniform rollouts without proofs need no threats, so their upkeep is saved.
            if not is_uniform or proves:
                note_threats(board, place, stone, threat, layout)
            stone = MOVER + OTHER - stone
            depth += 1
            path[depth] = node
        if not nodes[node].visits:
            proof = _known(board, place, stone, threat, depth == num_empty, layout, proves)
            settle(nodes, path, depth, proof, proves)
        # The playout's result is for the side to move; the minus turns it to the player who moved here.
        if is_end(nodes, node):
            result = DRAW - np.int64(nodes[node].proof)
        elif is_uniform is None:
            result = -tactical_cell_playout(board, stone, threat, layout, free, chance)
        else:
            result = -uniform_cell_playout(board, stone, layout, free, chance)
        back_up(nodes, path, depth, result, rule)
    return size, playouts


@inline_kernel
def _restore(boards: NDArray[np.uint8], threats: NDArray[np.uint16]) -> None:
    """Copy the root's board and threats to the scratch space that the next playout changes."""
    for place in range(boards.shape[1]):
        boards[1, place] = boards[0, place]
    for stone in (MOVER, OTHER):
        # Only the used part of each list is copied: its length is at index 0.
        for index in range(1 + np.int64(threats[0, stone, 0])):
            threats[1, stone, index] = threats[0, stone, index]


@inline_kernel
def _expand(
    nodes: NDArray[np.void], size: Int, node: Int, board: NDArray[np.uint8], layout: CellLayout
) -> Int:
    """Add a child to `node` for each legal action; return the new number of nodes."""
    end = size
    for action in range(layout.num_actions):
        if board[landing(board, action, layout)] == EMPTY:
            nodes[end].parent = node
            nodes[end].action = action
            end += 1
    # Children are neighbours in the array, so a node needs only the first one and their number.
    nodes[node].first = size
    nodes[node].count = end - size
    return end


@inline_kernel
def _known(
    board: NDArray[np.uint8],
    place: Int,
    stone: Int,
    threats: NDArray[np.uint16],
    is_full: bool,  # noqa: FBT001
    layout: CellLayout,
    proves: bool,  # noqa: FBT001
) -> Int:
    """Return what is immediately proven for the player who has just moved to `place`; `stone` is to move."""
    if makes_line(board, place, MOVER + OTHER - stone, layout):
        return WIN
    if is_full:
        return DRAW
    if proves and urgent(board, stone, threats, layout)[0]:
        return LOSS
    return UNKNOWN


_BIT = np.uint64(1)


@kernel
def grow_words(
    nodes: NDArray[np.void],
    size: Int,
    playouts: Int,
    pause: Int,
    own: np.uint64,
    opp: np.uint64,
    layout: Layout,
    rule: Selection,
    proves: bool,  # noqa: FBT001 # numba passes arguments by position
    path: NDArray[np.uint32],
    free: NDArray[np.uint64] | None,
    chance: NDArray[np.uint64],
) -> tuple[Int, Int]:
    """Make `playouts` from a root where `own` is to move; return nodes and playouts made, like `Board.grow`.

    `path` is scratch space `[max_length + 1]`, `free` `[num_actions]`. If `free` is None, rollouts are
    tactical, and only those are compiled.
    """
    # A node may get as many children as there are actions, so that much space must be left.
    room = len(nodes) - layout.num_actions
    for made in range(playouts):
        has_room = size <= room
        if size >= pause or (proves and nodes[0].proof):
            return size, made
        mover, other = own, opp
        node, depth = 0, 0
        path[0] = 0
        while True:
            if not nodes[node].count:
                # A leaf gets children at its second visit; the first visit ends here and plays it out.
                if node and (not nodes[node].visits or is_end(nodes, node) or not has_room):
                    break
                size = _expand_word(nodes, size, node, landings(mover | other, layout), layout)
            chance[0], node = select(nodes, node, rule, chance[0])
            mover, other = other, mover | land(mover | other, np.int64(nodes[node].action), layout)
            depth += 1
            path[depth] = node
        if not nodes[node].visits:
            settle(nodes, path, depth, _known_word(mover, other, layout, proves), proves)
        # The playout's result is for the side to move; the minus turns it to the player who moved here.
        if is_end(nodes, node):
            result = DRAW - np.int64(nodes[node].proof)
        elif free is None:
            result = -tactical_playout(mover, other, layout, chance)
        else:
            result = -uniform_playout(mover, other, layout, free, chance)
        back_up(nodes, path, depth, result, rule)
    return size, playouts


@inline_kernel
def _expand_word(nodes: NDArray[np.void], size: Int, node: Int, cells: np.uint64, layout: Layout) -> Int:
    """Add a child to `node` for each of `cells`; return the new number of nodes."""
    end = size
    while cells:
        nodes[end].parent = node
        nodes[end].action = layout.actions[bit_number(cells)]
        cells &= cells - _BIT
        end += 1
    nodes[node].first = size
    nodes[node].count = end - size
    return end


@inline_kernel
def _known_word(mover: np.uint64, other: np.uint64, layout: Layout, proves: bool) -> Int:  # noqa: FBT001
    """Return what is immediately proven for `other`, who has just moved."""
    cells = landings(mover | other, layout)
    if has_line(other, layout):
        return WIN
    if not cells:
        return DRAW
    if proves and completing(mover, layout) & cells:
        return LOSS
    return UNKNOWN
