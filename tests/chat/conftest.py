"""Whoever chats in a store leaves it open until the process ends; here the next test's store is another.

What a chat keeps for its user is in a folder of the test's own.
"""

from collections.abc import Iterator

import pytest

from holdfast.runtime.conversation.store_thread import STORES


@pytest.fixture(autouse=True)
def _no_store_stays_open() -> Iterator[None]:
    yield
    STORES.close()


@pytest.fixture(autouse=True)
def _a_user_of_their_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
