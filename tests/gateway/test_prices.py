"""The file of prices: strict, read again when it changes, and never the end of anything."""

import os
from pathlib import Path

import pytest

from holdfast.core import Usage
from holdfast.gateway.overview.prices import BadPrices, Price, PriceFile, PriceList, parsed

GOOD = '[models."a"]\ninput = 1\noutput = 2\n'


def test_a_cached_token_costs_as_input_unless_it_has_a_price() -> None:
    used = Usage(1, 1_000, 100, 400, 0)
    assert Price(1, 2, 1).cost_micros(used) == 1_200
    assert Price(1, 2, 0.25).cost_micros(used) == 600 + 100 + 200
    assert Price(1, 2, 0.25).cost_micros(Usage(1, 10, 0, 99, 0)) == 2, "never more cached than went in"


def test_the_longest_beginning_counts_and_a_whole_name_most() -> None:
    text = "".join(
        f'[models."{name}"]\ninput = {n}\noutput = 0\n' for n, name in enumerate(("*", "gpt*", "gpt-4*", "gpt-4o"))
    )
    prices = parsed(text)
    found = {name: prices.price_of(name) for name in ("other", "gpt-3", "gpt-4", "gpt-4o", "gpt-4o-mini")}
    assert {name: price.input for name, price in found.items() if price} == {
        "other": 0,
        "gpt-3": 1,
        "gpt-4": 2,
        "gpt-4o": 3,
        "gpt-4o-mini": 2,
    }
    assert PriceList().price_of("gpt-4o") is None


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "colour = 1",
        "models = 3",
        "[models]\na = 1",
        "currency = 3",
        'currency = ""',
        "[models.a]\ninput = 1",
        "[models.a]\ninput = 1\noutput = -1",
        "[models.a]\ninput = nan\noutput = 1",
        "[models.a]\ninput = inf\noutput = 1",
        "[models.a]\ninput = true\noutput = 1",
        '[models.a]\ninput = "1"\noutput = 1',
        "[models.a]\ninput = 1\noutput = 1\noutputs = 1",
        "[models.a]\ninput = 1\noutput = 1\n" + "x" * 100,
        "a=" + "[" * 5_000,
        "[models.a]\ninput = " + "9" * 5_000 + "\noutput = 1",
    ],
)
def test_a_mistake_is_said(text: str, tmp_path: Path) -> None:
    with pytest.raises(BadPrices):
        parsed(text)
    path = tmp_path / "prices.toml"
    path.write_text(text)
    file = PriceFile(path)
    assert file.read() == PriceList()
    assert file.problem


def problem(file: PriceFile) -> str | None:
    return file.problem


def test_the_file_is_read_again_when_it_changes_and_a_mistake_keeps_the_prices(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    file = PriceFile(path)
    assert file.read() == PriceList()
    assert problem(file) == "No such file or directory"
    path.write_text(GOOD)
    first = file.read()
    assert (first.price_of("a"), problem(file)) == (Price(1, 2, 1), None)
    assert file.read() is first, "not read again"
    path.write_text("broken =")
    assert file.read() is first
    assert problem(file)
    path.write_bytes(b"\xff")
    assert file.read() is first
    path.write_text(GOOD.replace("2", "3"))
    assert (file.read().price_of("a"), problem(file)) == (Price(1, 3, 1), None)
    path.write_bytes(b"#" * (1024 * 1024 + 1))
    file.read()
    assert "bytes" in str(problem(file))
    os.unlink(path)  # noqa: PTH108
    path.mkdir()
    file.read()
    assert problem(file)
