from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING

import pytest

from arena.entrants import as_entered, resolve
from arena.errors import PluginError
from arena.executor.seats import compiled_folder
from arena.shelf.shipped import shipped_weights

if TYPE_CHECKING:
    from pathlib import Path

    from arena_db.records import BotRecord

INDEX = """
option = "level"
default = "strong"
instead = "weights"
[files]
strong = ["strong*.npz"]
weak = ["weak.npz"]
"""
NEVER_RUN = "raise SystemExit('a module of a bot was imported')\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Offer the bot `learner`, whose package brings weights, and must not be imported."""
    site = tmp_path / "site"
    folder = site / "learner_bots" / "deep"
    (folder / "weights").mkdir(parents=True)
    for module in ("../__init__.py", "__init__.py", "bot.py"):
        (folder / module).write_text(NEVER_RUN)
    for name in ("strong.npz", "strong-2.npz", "weak.npz"):
        (folder / "weights" / name).write_text(name)
    metadata = site / "learner-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: learner\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[arena.bots]\nlearner = learner_bots.deep.bot:hooks\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    return folder


def record(spec: str) -> BotRecord:
    return resolve([spec], margin_ms=0)[0].record


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_weights_belong_to_a_bot_and_nothing_is_imported(package: Path) -> None:
    before = record("learner")
    assert sha256(package / "weights" / "weak.npz") in before.files
    assert not any(name.startswith("learner_bots") for name in sys.modules)
    (package / "weights" / "weak.npz").write_text("trained again")
    after = record("learner")
    assert after.spec == before.spec
    assert after.identity != before.identity
    (package / "weights" / "weak.npz").write_text("weak.npz")
    assert record("learner") == before


def test_what_is_not_played_with_does_not_count(package: Path) -> None:
    before = record("learner")
    for name in ("strong.provenance.toml", ".strong.npz.swp", "__pycache__/x.pyc", "../other.npz"):
        path = package / "weights" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("whatever")
    assert record("learner") == before
    (package / "weights" / "deeper").mkdir()
    (package / "weights" / "deeper" / "more.bin").write_text("more")
    assert "weights/deeper/more.bin" in record("learner").files


def test_an_index_says_which_weights_a_spec_plays_with(package: Path, tmp_path: Path) -> None:
    (package / "weights" / "index.toml").write_text(INDEX)
    specs = ("learner", "learner:level=strong", "learner:level=weak", "learner:level=other")
    strong = ["weights/strong-2.npz", "weights/strong.npz"]
    names = {spec: sorted(shipped_weights("learner_bots.deep.bot", options_of(spec))) for spec in specs}
    assert names == {
        specs[0]: strong,
        specs[1]: strong,
        specs[2]: ["weights/weak.npz"],
        specs[3]: [*strong, "weights/weak.npz"],
    }
    mine = tmp_path / "mine.npz"
    mine.write_text("mine")
    before = [record(spec) for spec in (*specs, f"learner:weights={mine}")]
    (package / "weights" / "weak.npz").write_text("trained again")
    after = [record(spec) for spec in (*specs, f"learner:weights={mine}")]
    changed = [one.identity != other.identity for one, other in zip(before, after, strict=True)]
    assert changed == [False, False, True, True, False]
    assert "weights/" not in after[-1].files


def options_of(spec: str) -> dict[str, str]:
    _, _, text = spec.partition(":")
    return dict([text.split("=")]) if text else {}


@pytest.mark.parametrize("content", ["option = 5", "other = 'x'", "[[", "files = {a = 'x'}", "\x00"])
def test_an_index_that_cannot_be_read_is_named(package: Path, content: str) -> None:
    (package / "weights" / "index.toml").write_text(content)
    with pytest.raises(PluginError, match=r"index\.toml does not say which weights a bot plays with"):
        record("learner")


def test_weights_that_cannot_be_read_are_named(package: Path) -> None:
    (package / "weights" / "index.toml").mkdir()
    with pytest.raises(PluginError, match=r"the weights in .*weights cannot be read \(Is a directory\)"):
        record("learner")


def test_a_namespace_package_brings_weights_and_a_lone_module_none(package: Path) -> None:
    for name in ("__init__.py", "../__init__.py"):
        (package / name).unlink()
    assert len(shipped_weights("learner_bots.deep.bot", {})) == 3
    assert len(shipped_weights("learner_bots.deep", {})) == 3
    site = package.parents[1]
    (site / "lone.py").write_text(NEVER_RUN)
    (site / "weights").mkdir()
    (site / "weights" / "of-anybody.npz").write_text("x")
    for module in ("lone", "lone.part", "nowhere", "learner_bots.nowhere"):
        assert shipped_weights(module, {}) == {}


def test_bundled_bots_are_known_by_their_weights() -> None:
    assert list(shipped_weights("arena_bots.td_lambda.bot", {})) == ["weights/best.npz"]
    assert list(shipped_weights("arena_bots.td_lambda.bot", {"recipe": "linear"})) == ["weights/linear.npz"]
    names = list(shipped_weights("arena_bots.keras_wdl.bot", {"recipe": "article"}))
    assert names == ["weights/connect-four-article.onnx", "weights/tic-tac-toe-article.onnx"]
    assert shipped_weights("arena_bots.keras_wdl.bot", {"weights": "mine.onnx"}) == {}
    assert shipped_weights("arena_bots.mcts", {}) == {}


def test_an_older_store_knows_a_bot_without_its_weights(package: Path) -> None:
    now = resolve(["learner:level=weak"], margin_ms=0)[0]
    for path in (package / "weights").glob("*.npz"):
        path.unlink()
    was = record("learner:level=weak")
    assert was.files == "{}"
    assert as_entered(now, now.record) is now
    entered = as_entered(now, was)
    assert entered is not None
    assert (entered.record, entered.spec) == (was, now.spec)
    assert as_entered(now, record("learner")) is None
    (package / "weights" / "weak.npz").write_text("trained again")
    assert as_entered(now, record("learner:level=weak")) is None


def test_new_weights_need_no_new_compiled_code(package: Path) -> None:
    before = resolve(["learner"], margin_ms=0)[0]
    (package / "weights" / "weak.npz").write_text("trained again")
    after = resolve(["learner"], margin_ms=0)[0]
    assert before != after
    assert compiled_folder(before) == compiled_folder(after)
