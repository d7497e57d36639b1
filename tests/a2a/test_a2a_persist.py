"""What must be written is tried again while the store is away, and given up only for a reason that stays."""

import pytest

from holdfast.a2a.turns.retry_writes import until_written
from holdfast.core import HoldfastError
from holdfast.core.errors import Busy, OutcomeUnknown, StoreFailed


class Write:
    """A write that meets these errors, one after the other, and then succeeds."""

    def __init__(self, *errors: HoldfastError) -> None:
        self.errors = list(errors)

    async def __call__(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "written"


async def test_a_passing_trouble_is_waited_out() -> None:
    assert await until_written(Write(Busy("full"), OutcomeUnknown("cut"))) == "written"


async def test_a_dead_store_is_not_waited_for() -> None:
    with pytest.raises(StoreFailed):
        await until_written(Write(Busy("full"), StoreFailed("dead")))
