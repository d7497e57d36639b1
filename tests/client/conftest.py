"""A real gateway process for all tests, each of which has sessions and a spool of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.client.gate import Gate
from tests.gateway.process import Running, running

NAMES = ("SESSION_ID", "SESSION_SERVICE_URL", "HOLDFAST_TOKEN", "HOLDFAST_SPOOL")


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("gateway")) as found:
        yield found


@pytest.fixture
def gate(gateway: Running) -> Iterator[Gate]:
    """A way to the gateway on which a test can stand."""
    with Gate(gateway.url) as found:
        yield found


@pytest.fixture(autouse=True)
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where agents spool unless told otherwise; nothing else of the environment concerns them."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOLDFAST_SPOOL", str(tmp_path / "spool"))
    return tmp_path / "spool"
