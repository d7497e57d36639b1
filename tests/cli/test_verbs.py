"""A verb that does not exist is refused with the one that it may have meant."""

import pytest
from click.testing import CliRunner

from holdfast.cli import main


@pytest.mark.parametrize(
    ("given", "meant"),
    [(["session", "ls"], "sessions"), (["proof"], "prove"), (["sessions", "lst"], "ls"), (["db", "bakcup"], "backup")],
)
def test_a_misspelt_verb_is_answered_with_the_nearest(given: list[str], meant: str) -> None:
    ended = CliRunner().invoke(main, given)
    assert ended.exit_code == 2
    assert f"Did you mean {meant!r}?" in ended.output


def test_a_verb_like_none_of_ours_is_refused_without_a_guess() -> None:
    ended = CliRunner().invoke(main, ["xyzzy"])
    assert ended.exit_code == 2
    assert "No such command" in ended.output
    assert "Did you mean" not in ended.output
