"""The targets of proofs are forked here, unless a test is about what comes before their first line."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import leashes
from tests.support.eventually import wait_until
from tests.support.processes import holdfast

from holdfast.prove.store import client
from holdfast.prove.targets import process

STARTS = ((process, process.start_process, leashes.popen), (client, client.start_process, leashes.create))


@pytest.fixture(scope="module", autouse=True)
def _forked_targets() -> Iterator[None]:
    """Targets, and the clients of stores, cost a tenth of what new interpreters cost."""
    with pytest.MonkeyPatch.context() as patch:
        for module, _, forked in STARTS:
            patch.setattr(module, "start_process", forked)
        yield


@pytest.fixture
def new_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Targets are new interpreters, as they are for users."""
    for module, real, _ in STARTS:
        monkeypatch.setattr(module, "start_process", real)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The URL and the workspace of an honest runtime that somebody else started."""
    port, data = process.free_port(), tmp_path_factory.mktemp("running")
    (data / "workspace").mkdir()
    with holdfast("none", "--port", str(port), "--data", str(data), module="holdfast.prove.broken"):
        wait_until(lambda: process.port_answers(port))
        yield f"http://127.0.0.1:{port}", data / "workspace"
