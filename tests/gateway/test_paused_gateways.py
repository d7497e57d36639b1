"""Gateways on one PostgreSQL that are paused, killed, stopped and cut off: turns go on elsewhere, and once."""

from pathlib import Path

import pytest
from tests.support.pauses import pause_gateways
from tests.support.pauses_plan import WEIGHTS, plan_of


def test_the_same_seed_gives_the_same_plan() -> None:
    assert plan_of(7, 500, 3) == plan_of(7, 500, 3)
    assert plan_of(7, 500, 3)[:100] == plan_of(7, 100, 3), "a shorter run is the beginning of a longer one"
    assert plan_of(7, 500, 3) != plan_of(8, 500, 3)


def test_a_plan_has_faults_of_every_kind_for_every_gateway() -> None:
    plan = plan_of(7, 500, 3)
    assert {(fault.kind, fault.gateway) for fault in plan} == {(kind, n) for kind in WEIGHTS for n in range(3)}


@pytest.mark.long
async def test_a_few_faults_lose_and_double_nothing(postgres_url: str, tmp_path: Path) -> None:
    outcome = await pause_gateways(postgres_url, tmp_path, 10, gateways=2, seed=20261116, say=print)
    assert outcome.wrong == []
    assert outcome.tasks["completed"], "no turn met a fault: the run proved nothing"
