"""Hostile inputs by the thousand: each is answered or hung up on, nothing fails, what is kept is unharmed.

`make chaos ARGS="http"` sends a million.
"""

from pathlib import Path

import pytest
from tests.support.hostile import attack

INPUTS = 12_000


@pytest.mark.long(seconds=15)
async def test_hostile_inputs_do_no_harm(store_url: str, tmp_path: Path) -> None:
    outcome = await attack(tmp_path, INPUTS // 2, seed=4, store=store_url)
    assert outcome.violations == []
    assert outcome.inputs >= INPUTS // 2
    assert outcome.statuses[400] > 1_000
    assert outcome.statuses[201] > 100
