"""An agent in a store leaves it open until the process ends; here the next test's store is another."""

from collections.abc import Iterator

import pytest

from holdfast.runtime.conversation.store_thread import STORES


@pytest.fixture(autouse=True)
def _no_store_stays_open() -> Iterator[None]:
    yield
    STORES.close()
