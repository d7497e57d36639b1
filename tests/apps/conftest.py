"""A gateway and a simulator that the tests of the programs share: each test has a session of its own."""

from collections.abc import Iterator

import pytest
from tests.gateway.process import running
from tests.models.simulators import simulated


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a gateway."""
    with running(tmp_path_factory.mktemp("gateway")) as found:
        yield found.url


@pytest.fixture(scope="module")
def model() -> Iterator[dict[str, str]]:
    """The environment of a program whose model is the simulator, over the API of OpenAI."""
    with simulated() as found:
        yield {"APP_MODEL": "openai", "OPENAI_BASE_URL": f"{found.url}/v1", "OPENAI_MODEL": "sim-1"}
