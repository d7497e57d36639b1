"""A process that is killed in the middle of a fork, an import, a deletion, an undelete or a purge leaves it finished or
undone."""

from pathlib import Path

import pytest
from tests.support.stepped_kills import EVERY_PLACE, OPERATIONS, kill_in_steps

ENDS = {
    "fork": {"finished", "undone"},
    "delete": {"not begun", "archived"},
    "undelete": {"archived", "restored"},
    "purge": {"archived", "purged"},
    "import": {"finished", "undone"},
}


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_killed_a_few_times(store_url: str, tmp_path: Path, operation: str) -> None:
    ends = await kill_in_steps(store_url, tmp_path, operation, 4)
    assert ends.total() == 4
    assert set(ends) <= ENDS[operation]


@pytest.mark.long(seconds=25)
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_killed_often(store_url: str, tmp_path: Path, operation: str) -> None:
    ends = await kill_in_steps(store_url, tmp_path, operation, EVERY_PLACE, seed=7)
    assert ends.total() == EVERY_PLACE
    assert set(ends) == ENDS[operation], "some kills came early and some late, or they prove little"
