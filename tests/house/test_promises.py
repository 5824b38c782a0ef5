"""The page about isolation promises exactly what the attacks test, and every attack exists."""

from __future__ import annotations

import importlib
import re

from arena.sandbox.attacks import promises
from arena.sandbox.attacks.promises import ATTACKS, KEPT, SHOWN, WORKS
from source_tree import ROOT

PAGE = ROOT / "docs" / "explanation" / "isolation.md"


def test_the_page_has_the_table() -> None:
    rows = re.findall(
        r"^\| (\d+) \| (.+) \| (\w+) \| (\w+) \| (\w+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert rows == [
        (str(each.number), each.name, each.promise("T1"), each.promise("T2"), each.promise("T3"))
        for each in ATTACKS
    ]


def test_the_page_explains_each_word() -> None:
    _, _, table = PAGE.read_text(encoding="utf-8").partition("| word | meaning |\n| --- | --- |\n")
    rows, _, _ = table.partition("\n\n")
    assert set(re.findall(r"^\| (\w+) \| [^|]+ \|$", rows, re.MULTILINE)) == {*KEPT, SHOWN, WORKS}
    assert {each.promise(tier) for each in ATTACKS for tier in ("T1", "T2", "T3")} == {*KEPT, SHOWN, WORKS}


def test_attacks_have_numbers_of_their_own_and_exist() -> None:
    numbers = [each.number for each in ATTACKS]
    assert numbers == sorted(set(numbers))
    package = promises.__name__.rpartition(".")[0]
    for each in ATTACKS:
        module, _, function = each.function.partition(".")
        assert function.startswith("attack_")
        assert callable(getattr(importlib.import_module(f"{package}.{module}"), function))


def test_no_tier_promises_less_than_a_weaker_one() -> None:
    for each in ATTACKS[1:]:
        kept = [each.promise(tier) in KEPT for tier in ("T1", "T2", "T3")]
        assert kept == sorted(kept), each


def test_verdicts() -> None:
    control, read, wake = ATTACKS[0], ATTACKS[1], next(each for each in ATTACKS if each.portable == SHOWN)
    assert [control.verdict("T3", worked=worked) for worked in (False, True)] == ["works", "fails"]
    assert [read.verdict("T1", worked=worked) for worked in (False, True)] == ["blocked", "WORKS"]
    assert [read.verdict("T3", worked=worked) for worked in (False, True)] == ["blocked", "WORKS"]
    assert [wake.verdict("T1", worked=worked) for worked in (False, True)] == ["blocked", "shown"]
    assert read._replace(container="removed").verdict("T3", worked=False) == "removed"
    assert read.promise("T0") == "works"
