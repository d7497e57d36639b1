"""An import that is killed at any place and run again is complete and exact, and can be taken back."""

from pathlib import Path

import pytest
from tests.support.import_kills import kill_imports


async def test_killed_a_few_times(store_url: str, tmp_path: Path) -> None:
    ends = await kill_imports(store_url, tmp_path, 2, seed=3)
    assert ends.total() >= 2


@pytest.mark.long(seconds=40)
async def test_killed_often(store_url: str, tmp_path: Path) -> None:
    ends = await kill_imports(store_url, tmp_path, 12, seed=20261117)
    assert {"importing", "moving"} <= set(ends), "some kills came early and some late, or they prove little"
