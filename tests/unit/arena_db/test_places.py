"""Places of stores: files, and URLs of servers without a password."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena_db.backend.places import SECURE, Server, find_place
from arena_db.errors import UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path


def server(url: str) -> Server:
    found = find_place(url)
    assert isinstance(found, Server)
    return found


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://anna@lab:5433/league", "postgresql://anna@lab:5433/league"),
        ("postgres://lab/league", "postgresql://lab/league"),
        ("postgresql://anna@[::1]/league", "postgresql://anna@[::1]/league"),
        ("postgresql:///league?host=/run/postgresql&user=anna", "postgresql://anna@/league"),
        ("postgresql:///?service=arena", "postgresql:///?service=arena"),
    ],
)
def test_a_server(url: str, shown: str) -> None:
    found = server(url)
    assert str(found) == shown
    assert find_place(found.url) == found == find_place(found)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://anna:hunter2@lab/league",
        "postgresql://anna:@lab/league",
        "postgresql://lab/league?password=hunter2",
        "postgresql://lab/league?sslpassword=hunter2",
        "postgresql://anna:hunter2@lab:port/league",
        "postgresql://anna:hunter2@lab/league?odd",
        "postgresql://lab/league?options=hunter2",
    ],
)
def test_a_secret_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        find_place(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["mysql://lab/league", "sqlite://lab/a.db", "postgresql://lab/a?sslmode=prefer"]
)
def test_odd_places_are_refused(url: str) -> None:
    with pytest.raises(UnsupportedError):
        find_place(url)


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("postgresql:///league", True),
        ("postgresql://localhost/league", True),
        ("postgresql://127.0.0.1/league", True),
        ("postgresql://[::1]/league", True),
        ("postgresql://lab/league", False),
        ("postgresql://192.168.1.10/league", False),
        ("postgresql://localhost.example.org/league", False),
        ("postgresql:///league?service=lab", False),
        ("postgresql:///league?service=here", True),
    ],
)
def test_only_this_machine_is_reached_without_a_certificate(
    url: str, is_local: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = tmp_path / "services"
    services.write_text("[lab]\nhost=lab\n[here]\nhost=127.0.0.1\n", encoding="utf-8")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    for name in ("PGHOST", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    assert server(url).tls == ({} if is_local else {"sslmode": SECURE})
    mark = "&" if "?" in url else "?"
    insecure = server(f"{url}{mark}insecure=1")
    assert insecure.tls == {}
    assert find_place(insecure.url) == insecure


def test_the_environment_may_name_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "lab")
    assert server("postgresql:///league").tls == {"sslmode": SECURE}
