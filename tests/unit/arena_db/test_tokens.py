"""Tokens in the store: what is stored of them, how they are found, and the rights of a damaged one."""

from __future__ import annotations

from hashlib import sha256

import pytest

from arena_db.errors import DamagedError, LockedError, RefusedError
from arena_db.store import Store
from stores import locked, tamper

SECRET = sha256(b"a secret").digest()
OTHER = sha256(b"another").digest()


@pytest.fixture(autouse=True)
def token(store: Store) -> None:
    """Store a token in each test's store."""
    store.tokens.add("anna", SECRET, "viewer", expires_at=5e9)


def test_a_token_is_found_by_its_hash_alone(place: str) -> None:
    with Store.open(place, read_only=True) as store:
        found = store.tokens.find(SECRET)
        assert found is not None
        assert (found.account, found.role, found.expires_at, found.used_on) == ("anna", "viewer", 5e9, None)
        assert store.tokens.find(OTHER) is None
        assert store.integrity.check() == []


def test_one_account_has_many_tokens_and_a_token_one_account(place: str) -> None:
    with Store.open(place) as store:
        store.tokens.add("anna", OTHER, "host")
        with pytest.raises(RefusedError):
            store.tokens.add("bert", OTHER, "viewer")
        assert [(each.account, each.role) for each in store.tokens.all()] == [
            ("anna", "viewer"),
            ("anna", "host"),
        ]


@pytest.mark.parametrize(("account", "role"), [("", "viewer"), ("a" * 65, "viewer"), ("a", "king")])
def test_what_breaks_a_rule_is_refused(store: Store, account: str, role: str) -> None:
    with pytest.raises(RefusedError):
        store.tokens.add(account, OTHER, role)


def test_a_token_counts_until_it_expires_or_is_revoked(place: str) -> None:
    with Store.open(place) as store:
        found = store.tokens.find(SECRET)
        assert found is not None
        assert found.counts_at(5e9 - 1)
        assert not found.counts_at(5e9)
        store.tokens.add("anna", OTHER, "host")
        assert store.tokens.revoke("anna", found.id) == [found.id]
        assert store.tokens.revoke("bert") == []
        revoked, other = store.tokens.find(SECRET), store.tokens.find(OTHER)
        assert revoked is not None
        assert other is not None
        assert not revoked.counts_at(0)
        assert other.counts_at(4e9)
        assert store.tokens.revoke("anna") == [other.id]
        assert store.integrity.check() == []


def test_a_damaged_token_allows_nothing_and_can_be_revoked(place: str) -> None:
    tamper(place, "UPDATE tokens SET role = 'host'")
    with Store.open(place) as store:
        with pytest.raises(DamagedError, match="token 1 of anna is not as it was stored"):
            store.tokens.find(SECRET)
        assert any("token 1 of anna" in fault for fault in store.integrity.check())
        assert store.tokens.revoke("anna") == [1]
        assert store.integrity.check() == []


def test_a_use_is_written_down_once_a_day_beside_a_reader(place: str) -> None:
    with Store.open(place, read_only=True) as store:
        for day in (20_000, 20_000, 19_999):
            store.tokens.note_use(1, day)
            assert [each.used_on for each in store.tokens.all()] == [20_000]
        store.tokens.note_use(1, 20_001)
        assert [each.used_on for each in store.tokens.all()] == [20_001]
        assert store.integrity.check() == []


def test_a_use_waits_for_nobody_for_long(place: str) -> None:
    with Store.open(place, read_only=True) as store, locked(place) as writer:
        writer.execute("UPDATE tokens SET used_on = used_on")
        with pytest.raises(LockedError):
            store.tokens.note_use(1, 20_000)
        assert [each.used_on for each in store.tokens.all()] == [None]
