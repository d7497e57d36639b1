"""Numbers of options: what nobody can count with is refused by name."""

import pytest
from click.testing import CliRunner

from holdfast.cli import main


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e999"])
@pytest.mark.parametrize(
    "words",
    [("serve", "--rate-limit"), ("sim", "--latency")],
)
def test_a_number_without_an_end_is_refused(words: tuple[str, ...], value: str) -> None:
    ended = CliRunner().invoke(main, [*words, value])
    assert ended.exit_code == 2
    assert f"'{words[-1]}'" in ended.stderr
