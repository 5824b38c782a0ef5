"""The application over ASGI: pages, twins, problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from arena.serve.app import make_app
from arena.serve.settings import ServeSettings
from tournaments import Sitting, config

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("serve") / "arena.db"
    sitting = Sitting(path, config("random", "minimax:depth=1", name="spring"))
    sitting.play()
    sitting.store.close()
    return path


def _ask(db: Path, path: str, **headers: str) -> httpx.Response:
    async def ask() -> httpx.Response:
        app = make_app(ServeSettings(db=str(db), anonymous=True))
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8642") as client:
            return await client.get(path, headers=headers)

    return anyio.run(ask)


@pytest.mark.parametrize("path", ["/", "/leaderboard", "/t/spring", "/t/spring/table"])
def test_a_page_has_the_headers_of_security(played: Path, path: str) -> None:
    answer = _ask(played, path)
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self';")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_an_unknown_address_is_a_page_for_browsers_and_json_for_programs(played: Path) -> None:
    page = _ask(played, "/t/sprung", accept="text/html")
    assert page.status_code == 404
    assert "did you mean &quot;spring&quot;" in page.text
    data = _ask(played, "/t/sprung/index.json", accept="text/html")
    assert data.headers["content-type"] == "application/problem+json"
    assert data.json()["status"] == 404


def test_a_store_that_is_gone_is_said_so(tmp_path: Path) -> None:
    answer = _ask(tmp_path / "arena.db", "/", accept="text/html")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert "is gone" in answer.text


def test_an_unknown_page_names_what_is_near(played: Path) -> None:
    assert "did you mean &quot;/leaderboard&quot;" in _ask(played, "/leaderbord", accept="text/html").text
    assert "did you mean &quot;table&quot;" in _ask(played, "/t/spring/tabel", accept="text/html").text
    assert "spring/1 to spring/2" in _ask(played, "/t/spring/77", accept="text/html").text
