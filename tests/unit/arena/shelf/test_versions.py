"""Versions of one bot side by side: the newest version, the meaning of a spec, and refusals."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.entrants import resolve
from arena.errors import PluginError
from arena.shelf import install as installing
from arena.shelf.install import install, remove
from arena.shelf.listing import find_bot, list_bots
from arena.shelf.records import read_record, wheel_folders
from arena.shelf.versions import choose, order
from arena_plugins.entries import Entry
from wheels import BOT, Metadata, make_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NUMBERS = itertools.count()


def digest_of(wheel: Path) -> str:
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def edge(folder: Path, version: str, *, bot: str = "edge", name: str = "edge_lover", code: str = BOT) -> Path:
    return make_wheel(
        folder / str(next(NUMBERS)), name, {bot: "edge_bot"}, {"edge_bot.py": code}, Metadata(version=version)
    )


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a shelf with versions 0.9, 0.10 and 0.10rc1 of edge, installed in that order."""
    folder = tmp_path_factory.mktemp("versions")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARENA_HOME", str(folder / "home"))
        for version in ("0.9", "0.10", "0.10rc1"):
            install(str(edge(folder, version)))
        yield folder / "home" / "bots"


@pytest.fixture
def three(template: Path, shelf: Path) -> Path:
    shutil.copytree(template, shelf)
    return shelf / "edge-lover"


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpack wheels without pip, which takes a second for each."""

    def unpack(wheels: list[Path], folder: Path) -> None:
        for wheel in wheels:
            shutil.unpack_archive(wheel, folder, "zip")

    monkeypatch.setattr(installing, "unpack", unpack)


def versions(name: str = "edge") -> list[str]:
    return [entry.version for entry in list_bots().versions_of(name)]


@pytest.mark.usefixtures("three")
def test_the_newest_is_the_greatest_version() -> None:
    """Not the greatest text, and not the version installed last; a pre-release comes before its release."""
    assert versions() == ["0.10", "0.10rc1", "0.9"]
    assert list_bots().entries["edge"].version == find_bot("edge").version == "0.10"
    assert list_bots().problems == ()


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("wanted", "version"),
    [("0.9", "0.9"), ("0.9.0", "0.9"), ("0.10", "0.10"), ("v0.10", "0.10"), ("0.10-RC.1", "0.10rc1")],
)
def test_a_version_is_compared_by_pep_440(wanted: str, version: str) -> None:
    assert find_bot(f"edge@{wanted}").version == version


@pytest.mark.usefixtures("three")
def test_digits_of_the_wheel_name_a_version() -> None:
    for entry in list_bots().versions_of("edge"):
        digits = entry.digest
        for wanted in (digits[:8], digits, digits[:12].upper(), f"{entry.version}+{digits[:6]}"):
            assert find_bot(f"edge@{wanted}") == entry
        assert find_bot(entry.address) == entry


@pytest.mark.usefixtures("three")
def test_digits_and_version_must_both_fit() -> None:
    newest = find_bot("edge")
    with pytest.raises(PluginError, match=r"is not installed; there are 0\.9, 0\.10rc1, 0\.10"):
        find_bot(f"edge@0.9+{newest.digest[:8]}")


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("wanted", ["0.3", "0.9.1", "ffff0000", "0.9+ffff0000", "no-version"])
def test_a_missing_version_tells_which_there_are(wanted: str) -> None:
    with pytest.raises(PluginError) as caught:
        resolve([f"edge@{wanted}"], margin_ms=0)
    assert str(caught.value) == f"edge@{wanted} is not installed; there are 0.9, 0.10rc1, 0.10"


def test_digits_are_no_version_unless_there_is_none_of_it() -> None:
    """`1234` is a version, and also the first digits of another wheel."""
    whole = Entry("e", "m", "d", "1234", "/a", "f" * 64)
    other = Entry("e", "m", "d", "1", "/b", "1234" + "0" * 60)
    assert choose([whole, other], "1234") == whole
    assert choose([whole, other], "12340") == other
    assert choose([other], "1234") == other
    with pytest.raises(PluginError, match=r"e@123 is not installed; there is 1$"):
        choose([other], "123")


def test_digits_that_fit_two_are_refused() -> None:
    one, two = (Entry("e", "m", "d", version, version, f"abcd{version}000000") for version in "21")
    with pytest.raises(PluginError) as caught:
        choose([one, two], "ABCD")
    assert str(caught.value) == "e@ABCD fits 2 installed bots; write one of e@abcd1000 (1), e@abcd2000 (2)"


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 11), st.sampled_from(["", "a1", "rc2", ".dev3"])))
)
@settings(derandomize=True, max_examples=200)
def test_versions_are_ordered_by_their_numbers(found: list[tuple[int, int, str]]) -> None:
    rank = {".dev3": 0, "a1": 1, "rc2": 2, "": 3}
    texts = sorted((f"{major}.{minor}{stage}" for major, minor, stage in found), key=order)
    expected = sorted(found, key=lambda part: (part[0], part[1], rank[part[2]]))
    assert texts == [f"{major}.{minor}{stage}" for major, minor, stage in expected]
    assert all(order("no version") < order(text) for text in texts)


def test_one_wheel_is_installed_once(three: Path, template: Path) -> None:
    (wheel,) = template.parents[1].glob("*/edge_lover-0.9-*.whl")
    before = sorted(three.iterdir())
    with pytest.raises(PluginError, match=r"edge_lover-0\.9-.* is installed already: edge \(edge_lover 0\.9"):
        install(str(wheel))
    assert sorted(three.parent.iterdir()) == [three]
    assert sorted(three.iterdir()) == before


@pytest.mark.usefixtures("fast", "shelf")
def test_two_wheels_of_one_version_live_side_by_side(tmp_path: Path) -> None:
    # Sorted by digest, so that the order of folders does not reveal the newest.
    wheels = sorted((edge(tmp_path, "0.1.0", code=BOT + "\n" * count) for count in (0, 1)), key=digest_of)
    for wheel in wheels:
        install(str(wheel))
    first, last = map(digest_of, wheels)
    assert find_bot("edge").digest == last
    for text in ("edge@0.1", "edge@0.1.0"):
        with pytest.raises(PluginError) as caught:
            find_bot(text)
        assert str(caught.value) == (
            f"{text} fits 2 installed bots; write one of edge@{first[:8]} (0.1.0), edge@{last[:8]} (0.1.0)"
        )
    with pytest.raises(PluginError, match=rf"there are 0\.1\.0\+{first[:8]}, 0\.1\.0\+{last[:8]}$"):
        find_bot("edge@0.2")
    one, two = resolve([f"edge@{first[:8]}", f"edge@0.1.0+{last[:8]}"], margin_ms=0)
    assert one.record.identity != two.record.identity
    assert (one.label, two.label) == (f"edge@{first[:8]}", f"edge@0.1.0+{last[:8]}")


@pytest.mark.usefixtures("three")
def test_a_version_is_no_part_of_what_a_bot_is() -> None:
    plain, exact, other = resolve(["edge:a=1", "edge@0.10.0:a=1", "edge@0.9:a=1"], margin_ms=0, twins=True)
    assert plain.record == exact.record != other.record
    assert (exact.label, exact.spec) == ("edge@0.10.0:a=1",) * 2
    assert {bot.record.spec for bot in (plain, exact, other)} == {"edge:a=1"}


@pytest.mark.usefixtures("fast", "shelf")
def test_a_bot_may_be_called_otherwise(tmp_path: Path) -> None:
    install(str(edge(tmp_path, "1.0")))
    taken = edge(tmp_path, "1.0", name="other")
    with pytest.raises(PluginError, match=r'a bot "edge" from edge_lover, .* another name with --as NAME'):
        install(str(taken))
    assert install(str(taken), name="edge-2").bots == ("edge-2",)
    entry = find_bot("edge-2")
    assert (entry.distribution, entry.value) == ("other", "edge_bot")
    assert read_record(wheel_folders()[1]).bot == "edge-2"
    assert resolve(["edge-2", "edge"], margin_ms=0)[0].record.name == "edge-2"
    assert install(str(edge(tmp_path, "2.0")), name="edge-next").bots == ("edge-next",)
    assert versions() == ["1.0"]
    assert remove("edge-2") == ["edge-2"]


@pytest.mark.usefixtures("fast", "shelf")
def test_one_name_never_stands_for_two_bots(tmp_path: Path) -> None:
    """Not even if files were added after the wheel was installed."""
    install(str(edge(tmp_path, "1.0")), name="mine")
    folder = wheel_folders()[0] / "lib"
    (points,) = folder.glob("*/entry_points.txt")
    points.write_text("[arena.bots]\none = a\ntwo = b\n")
    os.utime(folder, ns=(0, 0))
    assert "mine" not in list_bots().entries
    assert "no longer those of its wheel" in list_bots().problems[0].reason


@pytest.mark.usefixtures("fast")
def test_a_wheel_that_cannot_be_shelved_leaves_nothing(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_rename = os.rename

    def refuse(source: str, target: str, **folders: int) -> None:
        # While folders are open, the process removes what it began to write.
        if not folders:
            raise OSError(28, "No space left on device")
        real_rename(source, target, **folders)

    wheel = edge(tmp_path, "1.0")
    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(OSError, match="No space left"):
        install(str(wheel))
    assert list(shelf.iterdir()) == []


@pytest.mark.usefixtures("fast", "my_bots")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Random", 'there is a bot "random" from bot-arena'),
        ("LEFT", 'there is a bot "left" from My_Bots'),
        ("../x", "is not a name"),
        ("a@1", "is not a name"),
    ],
)
def test_the_other_name_may_be_refused(name: str, message: str, tmp_path: Path) -> None:
    before = wheel_folders()
    with pytest.raises(PluginError, match=message):
        install(str(edge(tmp_path, "1.0")), name=name)
    both = make_wheel(tmp_path, "both", {"one": "m", "two": "m"}, {"m.py": BOT})
    with pytest.raises(PluginError, match=r"--as x names one bot, and both-1.0-.* has several: one, two"):
        install(str(both), name="x")
    assert wheel_folders() == before


@pytest.mark.usefixtures("fast")
def test_another_case_is_another_bot(three: Path, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match='there is a bot "edge" from edge_lover'):
        install(str(edge(tmp_path, "1.0", bot="Edge")))
    assert len(list(three.iterdir())) == 3


@pytest.mark.usefixtures("three")
def test_one_version_is_removed() -> None:
    with pytest.raises(
        PluginError, match=r"edge is installed in 3 versions; remove one of edge@[0-9a-f]{8} \("
    ):
        remove("edge")
    with pytest.raises(PluginError, match=r"edge-lover@1 is not installed; there are 0\.9, 0\.10rc1, 0\.10"):
        remove("edge-lover@1")
    assert remove("edge@0.10") == ["edge"]
    assert versions() == ["0.10rc1", "0.9"]
    assert remove(find_bot("edge@0.9").address) == ["edge"]
    assert remove("Edge.Lover") == ["edge"]
    assert wheel_folders() == []


def test_the_environment_offers_one_version_more(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    shutil.unpack_archive(edge(tmp_path, "0.10.0"), site, "zip")
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    assert versions() == ["0.10.0", "0.10", "0.10rc1", "0.9"]
    assert find_bot("edge").folder == ""
    assert find_bot("edge@0.9").folder.startswith(str(three))
    with pytest.raises(PluginError, match=r", edge \(0\.10\.0, in the arena's environment\)"):
        find_bot("edge@0.10")
    with pytest.raises(PluginError, match=r"edge@0\.2 is not installed"):
        remove("edge@0.2")


@pytest.mark.usefixtures("fast")
def test_the_environment_may_get_another_version_on_the_shelf(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    shutil.unpack_archive(edge(tmp_path, "1.0"), site, "zip")
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    install(str(edge(tmp_path, "2.0")))
    assert versions() == ["2.0", "1.0"]
    assert find_bot("edge").folder.startswith(str(shelf))
    with pytest.raises(PluginError, match='there is a bot "edge" from edge_lover'):
        install(str(edge(tmp_path, "1.0", name="other")))


@pytest.mark.usefixtures("fast")
def test_a_folder_of_an_earlier_release_is_used_where_it_is(old_bots: Path, tmp_path: Path) -> None:
    assert sorted(path.name for path in old_bots.iterdir()) == ["install.toml", "lib"]
    assert find_bot("left@1.0").folder == str(old_bots / "lib")
    bots = {"left": "my_bots"}
    install(
        str(
            make_wheel(
                tmp_path, "my_bots", bots, {"my_bots.py": BOT}, Metadata(title="My_Bots", version="2.0")
            )
        )
    )
    assert versions("left") == ["2.0", "1.0"]
    assert versions("right") == ["1.0"]
    resolve(["left@1.0", "left"], margin_ms=0)
    assert remove("left@1.0") == ["left", "right"]
    assert versions("left") == ["2.0"]
    assert [path.name[:4] for path in old_bots.iterdir()] == ["2.0-"]
    assert remove("left") == ["left"]
    assert list(old_bots.parent.iterdir()) == []


def test_a_damaged_version_does_not_hide_behind_an_older_one(three: Path) -> None:
    newest = find_bot("edge")
    (three / f"0.10-{newest.digest[:8]}" / "install.toml").unlink()
    for text in ("edge", "edge@0.10"):
        with pytest.raises(
            PluginError, match=f"cannot be read .* remove edge-lover@{newest.digest[:8]}, then"
        ):
            find_bot(text)
    assert find_bot("edge@0.9").version == "0.9"
    assert remove(f"edge-lover@{newest.digest[:8]}") == []
    assert find_bot("edge").version == "0.10rc1"


def test_an_old_damaged_version_is_no_obstacle(three: Path) -> None:
    oldest = find_bot("edge@0.9")
    (three / f"0.9-{oldest.digest[:8]}" / "install.toml").write_text("")
    assert find_bot("edge").version == "0.10"
    (problem,) = list_bots().problems
    assert (problem.entry.name, problem.entry.version) == ("edge-lover", "0.9")
    with pytest.raises(PluginError, match=r"the installation record in .* cannot be read"):
        find_bot("edge@0.9")


def test_two_offers_of_one_name_in_a_wheel_are_no_versions(three: Path) -> None:
    folder = three / f"0.9-{find_bot('edge@0.9').digest[:8]}" / "lib"
    (points,) = folder.glob("*/entry_points.txt")
    points.write_text("[arena.bots]\nedge = a\nedge = b\n")
    os.utime(folder, ns=(0, 0))
    assert "edge" not in list_bots().entries
    assert len(list_bots().problems) == 4
