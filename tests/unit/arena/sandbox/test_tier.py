from arena.sandbox.tier import Tier, strongest_tier


def test_tiers_are_ordered() -> None:
    assert min(Tier) is Tier.T0
    assert strongest_tier() is Tier.T1
