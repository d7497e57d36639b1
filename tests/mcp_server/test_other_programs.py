"""Other people's programs against ours: the protocol's conformance suite, and the TypeScript SDK's clients.

The suite's scenarios for servers mostly call tools of its own test server by name. Those that need nothing but a server
are here by name, and so is what is left out of them.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.process import Running, running

from holdfast.gateway.mcp.tools import BY_NAME
from holdfast.store import open_store

HERE = Path(__file__).parent / "node"
ROOT = HERE.parents[2]
SUITE = HERE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
INSTALL_SECONDS = 300
RUN_SECONDS = 300

APPLY = {
    "2025-11-25": {
        *("server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "prompts-list"),
        "dns-rebinding-protection",
    },
    "2026-07-28": {
        *("server-stateless", "tools-list", "resources-list", "prompts-list", "server-sse-multiple-streams"),
        *("sep-2164-resource-not-found", "dns-rebinding-protection", "caching", "http-header-validation"),
    },
}
"""What needs nothing but a server, by revision."""
CHECKS = {"2025-11-25": 10, "2026-07-28": 45}
"""How many checks of these there are at least."""

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def node() -> str:
    """The Node of the dashboard's build, with the programs installed; NOT RUN where they cannot be had."""
    folder = ROOT / ".venv-dashboard" / "bin"
    if not (folder / "node").exists():
        pytest.skip("NOT RUN: other people's MCP programs need Node (make .venv-dashboard/.stamp)")
    path = f"{folder}:{os.environ['PATH']}"
    try:
        subprocess.run(
            [ROOT / "scripts" / "mcp-programs"],
            env={**os.environ, "PATH": path},
            check=True,
            capture_output=True,
            timeout=INSTALL_SECONDS,
        )
    except (subprocess.SubprocessError, OSError) as error:
        said = getattr(error, "stderr", None) or b""
        pytest.skip(f"NOT RUN: other people's MCP programs (scripts/mcp-programs): {error} {said.decode()[-300:]}")
    return str(folder / "node")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("gateway")) as made:
        yield made


@pytest.mark.parametrize("revision", APPLY)
def test_the_conformance_suites_scenarios_for_servers(
    node: str, gateway: Running, tmp_path: Path, revision: str
) -> None:
    words = ["server", "--url", f"{gateway.url}/mcp", "--suite", "all", "--spec-version", revision, "-o", str(tmp_path)]
    subprocess.run([node, str(SUITE), *words], check=False, capture_output=True, timeout=RUN_SECONDS)
    found: dict[str, list[dict[str, Any]]] = {}
    for file in tmp_path.rglob("checks.json"):
        scenario = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\dZ-]+", file.parent.name)
        assert scenario is not None, file
        found[scenario[1]] = json.loads(file.read_text())
    assert found.keys() >= APPLY[revision]
    checks = [(scenario, check) for scenario in APPLY[revision] for check in found[scenario]]
    good = {"SUCCESS", "INFO", "SKIPPED"}
    assert [each for each in checks if each[1]["status"] not in good and not _needs_their_tools(each[1])] == []
    assert sum(check["status"] == "SUCCESS" for _, check in checks) >= CHECKS[revision]


def _needs_their_tools(check: dict[str, Any]) -> bool:
    """Whether a check looks for a tool of the suite's own test server."""
    return str(check.get("errorMessage", "")).startswith("Not testable: server does not list the diagnostic tool")


SPOKEN = {("v1", "legacy"): "2025-11-25", ("v2", "legacy"): "2025-11-25", ("v2", "auto"): "2026-07-28"}


@pytest.mark.parametrize("transport", ["http", "http with a token", "stdio"])
@pytest.mark.parametrize(("version", "mode"), SPOKEN)
async def test_the_typescript_sdks_client(
    node: str, gateway: Running, tmp_path: Path, version: str, mode: str, transport: str
) -> None:
    if transport == "http with a token":
        async with await open_store(f"sqlite:///{tmp_path}/holdfast.db") as store:
            _, token = await store.tokens.create("typescript", ["read", "write"])
        with running(tmp_path) as asking:
            told = _run(node, version, mode, f"{asking.url}/mcp", HOLDFAST_TOKEN=token)
    elif transport == "http":
        told = _run(node, version, mode, f"{gateway.url}/mcp")
    else:
        told = _run(node, version, mode, "-", sys.executable, "-m", "holdfast", "mcp", "--data", str(tmp_path / "data"))
    if (version, transport) == ("v1", "stdio"):
        told["revision"] = told["revision"] or SPOKEN[version, mode]  # which it does not tell on this transport
    refused = told.pop("refused")
    assert refused[0] is True
    assert refused[1].startswith("not_found: ")
    assert told == {
        "revision": SPOKEN[version, mode],
        "server": "holdfast",
        "tools": list(BY_NAME),
        "typed": True,
        "same": True,
        "hits": 1,
        "listed": True,
        "state": True,
        "messages": 2,
    }


def _run(node: str, *words: str, **variables: str) -> dict[str, Any]:
    """What the client was told."""
    done = subprocess.run(
        [node, str(HERE / "client.mjs"), *words],
        env={**os.environ, **variables},
        check=False,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found
