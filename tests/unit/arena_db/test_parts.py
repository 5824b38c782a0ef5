"""A store is composed of parts: plain objects that share its connections and the fencing of a claim."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, get_type_hints

import pytest

from arena_db import store as store_module
from arena_db.errors import LeaseLostError
from arena_db.owner import Owner
from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWNER = Owner(uuid="one", host="elsewhere", boot_id="b", pid=1, pid_start=1)
OTHER = Owner(uuid="two", host="elsewhere", boot_id="b", pid=1, pid_start=1)


def parts_of(store: Store) -> Iterator[tuple[str, object]]:
    """Yield the parts of a store by name."""
    names = {
        name for name, kind in get_type_hints(Store, dict(vars(store_module))).items() if kind is not object
    }
    assert names == {name for name, value in vars(store).items() if hasattr(value, "_access")}
    for name in sorted(names):
        yield name, getattr(store, name)


def test_parts_are_plain_and_share_the_connections(store: Store) -> None:
    held = store.claim(add_cup(store).record.id, OWNER)
    assert held is not None
    for opened in (store, held):
        for name, part in parts_of(opened):
            assert type(part).__bases__ == (object,), name
            assert vars(part) == {"_access": vars(opened)["_access"]}, name
            assert list(inspect.signature(type(part)).parameters) == ["access"], name


def test_a_claimed_store_is_fenced_in_all_parts_and_the_other_in_none(store: Store) -> None:
    cup = add_cup(store, "a", "b")
    number = cup.record.id
    store.shared = shared = object()
    held = store.claim(number, OWNER)
    assert held is not None
    assert held.shared is shared
    assert type(held) is Store
    assert store.claim(number, OTHER) is None
    held.leases.release()
    assert store.claim(number, OTHER) is not None
    for lost in (
        lambda: held.matches.save([cup.match(1)]),
        lambda: held.tournaments.set_state(number, "stopped"),
        held.leases.beat,
        lambda: held.changes.drop_gone(number) or held.events.append([]),
        lambda: held.plans.close(number),
    ):
        with pytest.raises(LeaseLostError):
            lost()
    assert store.matches.save([cup.match(1)]) == 1, "a store that claimed nothing for itself has no fence"


def test_closing_a_claimed_store_leaves_the_connections_open(store: Store, tmp_path: Path) -> None:
    cup = add_cup(store, "a", "b")
    # The connection that is kept open for a snapshot is not shared: each of the two closes its own.
    before = store.data_version()
    held = store.claim(cup.record.id, OWNER)
    assert held is not None
    with held:
        assert held.matches.save([cup.match(1), cup.match(2)]) == 2
        assert held.transfers.rescue_unsaved(tmp_path / "rescued", cup.record.uid) == 0, "all of it is stored"
        held.data_version()
    assert store.data_version() != before
    assert [match.number for match in store.matches.of_tournament(cup.record.id)] == [1, 2]
    with store._access.read() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - to look at it
        mark = connection.exec_driver_sql("SELECT next_match FROM summing").scalar()
    assert mark == 3, "the claimed store added what it saved to the sums when it was closed"
