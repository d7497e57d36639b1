"""A gateway may be killed at any moment: what it acknowledged is there, and what is sent again is written once."""

from pathlib import Path

import pytest
from tests.support.gateway_kills import Outcome, kill_gateways


def met(outcome: Outcome, kills: int) -> None:
    """The kills met clients at work, and found some between the commit and the answer; else they proved nothing."""
    clients = outcome.clients
    assert len(outcome.ready) == kills
    assert clients.answered > kills
    assert clients.cut > kills
    assert clients.found_again


async def test_a_few_kills_lose_and_double_nothing(sqlite_url: str, tmp_path: Path) -> None:
    outcome = await kill_gateways(sqlite_url, tmp_path, 2)
    assert outcome.wrong == []
    assert outcome.clients.cut


@pytest.mark.long(seconds=60)
async def test_a_hundred_kills_lose_and_double_nothing(sqlite_url: str, tmp_path: Path) -> None:
    outcome = await kill_gateways(sqlite_url, tmp_path, 100)
    assert outcome.wrong == []
    met(outcome, 100)


@pytest.mark.long
@pytest.mark.parametrize(("gateways", "kills"), [(1, 12), (2, 6)])
async def test_kills_on_postgresql_lose_and_double_nothing(
    postgres_url: str, tmp_path: Path, gateways: int, kills: int
) -> None:
    """With two gateways the clients whose gateway was killed go on at the other."""
    outcome = await kill_gateways(postgres_url, tmp_path, kills, gateways=gateways)
    assert outcome.wrong == []
    met(outcome, kills)


@pytest.mark.long
@pytest.mark.parametrize(("liar", "caught"), [("early", "lost: "), ("forgetful", "duplicate: ")])
async def test_a_gateway_that_lies_is_caught(sqlite_url: str, tmp_path: Path, liar: str, caught: str) -> None:
    outcome = await kill_gateways(sqlite_url, tmp_path, 5, module=f"tests.support.liars.{liar}")
    assert any(caught in line for line in outcome.wrong), outcome.wrong
