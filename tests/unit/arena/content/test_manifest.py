from __future__ import annotations

import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st

from arena.content.manifest import FileEntry, Inventory

PATHS = st.lists(st.text("abc/é", min_size=1, max_size=6), unique=True, max_size=5)


@st.composite
def inventories(draw: st.DrawFn) -> Inventory:
    files = tuple(
        FileEntry(path, draw(st.booleans()), len(data), hashlib.sha256(data).hexdigest())
        for path, data in ((path, draw(st.binary(max_size=4))) for path in draw(PATHS))
    )
    return Inventory(files=files, needs=draw(st.dictionaries(st.text("ab"), st.text("12."), max_size=2)))


@given(inventories(), st.randoms())
@settings(derandomize=True)
def test_the_order_of_files_is_no_part_of_the_hash(inventory: Inventory, random: object) -> None:
    shuffled = list(inventory.files)
    getattr(random, "shuffle")(shuffled)  # noqa: B009 - a Random of hypothesis
    needs = dict(reversed(inventory.needs.items()))
    assert Inventory(files=tuple(shuffled), needs=needs).tree_hash == inventory.tree_hash


@given(inventories(), inventories())
@settings(derandomize=True, max_examples=300)
def test_two_inventories_have_one_hash_only_if_they_are_one(one: Inventory, other: Inventory) -> None:
    is_same = (set(one.files), one.needs) == (set(other.files), other.needs)
    assert (one.tree_hash == other.tree_hash) == is_same


@given(inventories(), st.data())
@settings(derandomize=True)
def test_any_change_of_one_file_changes_the_hash(inventory: Inventory, data: st.DataObject) -> None:
    if not inventory.files:
        return
    number = data.draw(st.integers(0, len(inventory.files) - 1))
    path, executable, size, sha256 = (
        getattr(inventory.files[number], name) for name in ("path", "is_executable", "size", "sha256")
    )
    changed = data.draw(
        st.sampled_from(
            [
                FileEntry(f"{path}x", executable, size, sha256),
                FileEntry(path, not executable, size, sha256),
                FileEntry(path, executable, size + 1, sha256),
                FileEntry(path, executable, size, hashlib.sha256(b"another").hexdigest()),
            ]
        )
    )
    files = (*inventory.files[:number], changed, *inventory.files[number + 1 :])
    assert Inventory(files=files, needs=inventory.needs).tree_hash != inventory.tree_hash


def test_a_known_hash() -> None:
    """The hash is that of canonical JSON, which can be computed without the arena."""
    text = '[[["a",true,3,"x"]],{"numpy":"2.0"}]'
    inventory = Inventory(files=(FileEntry("a", True, 3, "x"),), needs={"numpy": "2.0"})  # noqa: FBT003
    assert inventory.tree_hash == hashlib.sha256(text.encode()).hexdigest()
    assert inventory.num_bytes == 3
