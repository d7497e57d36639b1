"""Every public write, on both engines at once, with faults at every call of the engine: both agree with the model."""

import pytest
from tests.support.machine.driver import run_machine

SEED = 20261116


async def test_some_steps_with_faults_agree_with_the_model(sqlite_url: str, postgres_url: str) -> None:
    run = await run_machine([sqlite_url, postgres_url], 150, seed=SEED)
    assert run.wrong == []
    assert run.faults > 20


@pytest.mark.long(seconds=20)
async def test_thousands_of_steps_with_faults_agree_with_the_model(sqlite_url: str, postgres_url: str) -> None:
    run = await run_machine([sqlite_url, postgres_url], 2_000, seed=SEED + 1)
    assert run.wrong == []
    assert run.faults > 500
