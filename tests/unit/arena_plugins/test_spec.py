"""Specs and the options in them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arena_plugins.errors import OptionError, PluginError
from arena_plugins.spec import OptionReader, Spec

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", fullmatch=True)
KEYS = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,9}", fullmatch=True)
VERSIONS = st.just("") | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.+!-]{0,127}", fullmatch=True)
SPECS = st.builds(Spec, NAMES, st.dictionaries(KEYS, st.text(), max_size=4), VERSIONS)


@given(SPECS)
@example(Spec("a", {"k": 'x,"y\\'}))
@example(Spec("a", {"k": " "}))
@example(Spec("a", {"k": "\\\n,"}))
def test_a_spec_is_read_as_it_is_written(spec: Spec) -> None:
    assert Spec.parse(str(spec)) == spec


@given(st.text())
def test_reading_raises_only_plugin_errors(text: str) -> None:
    try:
        spec = Spec.parse(text)
    except PluginError:
        return
    assert Spec.parse(str(spec)) == spec


def test_the_text_is_canonical() -> None:
    assert str(Spec.parse(' mcts:b=2,a="1,5",c= ')) == 'mcts:a="1,5",b=2,c='
    assert Spec.parse("exec:command=run --x=1").options == {"command": "run --x=1"}


@pytest.mark.parametrize(
    ("text", "name", "version", "options"),
    [
        ("edge", "edge", "", {}),
        ("edge@0.1.0", "edge", "0.1.0", {}),
        (" edge@1!2.0rc1.post2+local.3:a=1 ", "edge", "1!2.0rc1.post2+local.3", {"a": "1"}),
        ("edge@3f2a91c0:a=b@c", "edge", "3f2a91c0", {"a": "b@c"}),
        ("edge:a=b@c:d", "edge", "", {"a": "b@c:d"}),
    ],
)
def test_a_version_stands_behind_the_name(
    text: str, name: str, version: str, options: dict[str, str]
) -> None:
    spec = Spec.parse(text)
    assert (spec.name, spec.version, spec.options) == (name, version, options)
    assert str(spec) == text.strip()
    assert spec.address == text.strip().partition(":")[0]


def test_only_bots_have_versions() -> None:
    with pytest.raises(PluginError, match=r"only bots have versions; write hex:size=3"):
        Spec.parse("hex@1:size=3", versioned=False)
    assert Spec.parse("hex:size=3", versioned=False).version == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "does not begin with a name"),
        ("-x", "does not begin with a name"),
        ("x" * 65, "does not begin with a name"),
        ("x:", "no option"),
        ("x:a", 'at "a"'),
        ("x:a=1,", 'at "a=1,"'),
        ("x:a=1,,b=2", 'at ",b=2"'),
        ('x:a="1', "cannot read"),
        ("x:a=1,a=2", '"a" twice'),
        (f"x:a={'y' * 4093}", r'"x:a=y{36}…" has 4,097 characters; a spec has at most 4,096'),
        ("x@", '"x@" has an "@" without a version behind it; write x@0.1.0, or just x'),
        ("x@:a=1", "without a version"),
        ("x@1@2", "without a version"),
        ("x@../y", "without a version"),
        ("x@-1", "without a version"),
        ("x@" + "1" * 129, "without a version"),
        ("@1", "does not begin with a name"),
        ("x@1:", "write x@1:key=value or just x@1"),
    ],
)
def test_a_malformed_spec_says_where(text: str, reason: str) -> None:
    with pytest.raises(PluginError, match=reason):
        Spec.parse(text)


def test_the_longest_spec() -> None:
    assert len(str(Spec.parse(f"x:a={'y' * 4092}"))) == 4096


def reader(**options: str) -> OptionReader:
    return OptionReader("mcts", options)


def test_options_are_read() -> None:
    options = reader(n="-3", x=".5", c="b", on="on", text="t")
    assert options.integer("n", None, low=-5, high=5) == -3
    assert options.number("x", 1.0, low=0, high=1) == 0.5
    assert options.choice("c", "a", ("a", "b")) == "b"
    assert options.flag("on", default=False) is True
    assert options.text("text", "") == "t"
    options.done()


def test_absent_options_have_their_defaults() -> None:
    options = reader()
    assert options.integer("n", None, low=0, high=1) is None
    assert options.number("x", 0.25, low=0, high=1) == 0.25
    assert options.choice("c", "a", ("a", "b")) == "a"
    assert options.flag("on", default=True) is True
    options.done()


@pytest.mark.parametrize("text", ["6", "-1", "1.5", "1_0", " 1", "\N{ARABIC-INDIC DIGIT ONE}", "9" * 5000])
def test_wrong_integers_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"mcts: n=.* is not a whole number from 0 to 5"):
        reader(n=text).integer("n", 0, low=0, high=5)


@pytest.mark.parametrize("text", ["6", "nan", "inf", "1e", "-0.1", "."])
def test_wrong_numbers_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"mcts: x=.* is not a number from 0 to 5"):
        reader(x=text).number("x", 0.0, low=0, high=5)


def test_other_refusals_name_the_way_out() -> None:
    with pytest.raises(OptionError, match='c=blu is not one of blue, red; did you mean "blue"'):
        reader(c="blu").choice("c", "red", ("blue", "red"))
    with pytest.raises(OptionError, match="n has no value; write n=VALUE"):
        reader(n="").integer("n", 0, low=0, high=5)
    with pytest.raises(OptionError, match="x has no value"):
        reader(x="").number("x", 0, low=0, high=5)
    options = reader(playout="1")
    options.text("playouts", "")
    with pytest.raises(OptionError, match=r'no option "playout"; did you mean "playouts".*options: playouts'):
        options.done()
    with pytest.raises(OptionError, match="options: none"):
        reader(z="1").done()
