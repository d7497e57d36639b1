"""The thread that a store is open on keeps nothing of work that has ended."""

from collections.abc import Iterator

import pytest
from tests.support.eventually import wait_until

from holdfast.core.errors import StoreFailed
from holdfast.runtime.conversation.store_thread import StoreThread


@pytest.fixture
def thread(sqlite_url: str) -> Iterator[StoreThread]:
    opened = StoreThread(sqlite_url)
    yield opened
    opened.close()


def test_work_that_nobody_waits_for_is_forgotten_when_it_has_ended(thread: StoreThread) -> None:
    done: list[int] = []

    async def work() -> None:
        done.append(1)

    for _ in range(20):
        thread.submit(work)
    wait_until(lambda: len(done) == 20 and not thread._begun)


def test_work_that_nobody_waits_for_and_that_fails_is_logged(
    thread: StoreThread, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails() -> None:
        raise StoreFailed("the disk is gone")

    thread.submit(fails)
    wait_until(lambda: "the disk is gone" in caplog.text)
    assert not thread._begun
