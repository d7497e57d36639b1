"""A real gateway process for all tests, each of which has an inbox and sessions of its own."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.client.gate import Gate
from tests.gateway.process import Running, running
from tests.hook.hooks import Hooks

NAMES = ("SESSION_ID", "SESSION_SERVICE_URL", "HOLDFAST_TOKEN", "HOLDFAST_SPOOL", "CLAUDE_CONFIG_DIR")


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
def plain_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the environment concerns hooks, and the home folder is the test's."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def session() -> str:
    """A session of Claude Code that nobody else has."""
    return str(uuid.uuid4())


@pytest.fixture
def hooks(tmp_path: Path, gateway: Running, session: str) -> Hooks:
    return Hooks(tmp_path, gateway.url, session)
