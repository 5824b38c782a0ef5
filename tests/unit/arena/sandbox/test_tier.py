from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from arena.sandbox.launch import landlock, seccomp
from arena.sandbox.tier import Tier, landlock_abi, tiers_to_try

if TYPE_CHECKING:
    import pytest


def test_tiers_are_ordered() -> None:
    assert sorted(Tier) == [Tier.T0, Tier.T1, Tier.T2, Tier.T3]


def test_means_decide_what_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    means = landlock_abi() >= landlock.MIN_ABI and os.uname().machine in seccomp.ARCHITECTURES
    assert tiers_to_try() == ([Tier.T3, Tier.T2, Tier.T1] if means else [Tier.T1])
    monkeypatch.setattr(seccomp, "ARCHITECTURES", {})
    assert tiers_to_try() == [Tier.T1]
    monkeypatch.setattr(sys, "platform", "darwin")
    assert tiers_to_try() == [Tier.T1]
    landlock_abi.cache_clear()
    assert landlock_abi() == 0
    landlock_abi.cache_clear()
    monkeypatch.setattr(os, "name", "nt")
    assert tiers_to_try() == [Tier.T0]
