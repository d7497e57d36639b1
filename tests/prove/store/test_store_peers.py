"""Other people's stores under the contract: what `docs/prove-store.md` says of them. Needs `make peers`."""

from pathlib import Path

import pytest
from tests.prove.store.putting import ROOT, put_with

PYTHON = ROOT / ".venv-peers" / "bin" / "python"

# What must be disproven. Races may also be disproven where they are not named: ADK sorts by the writers' clocks.
PEERS: dict[str, set[str]] = {
    "openai_agents_sqlite": {"damage"},
    "langgraph_sqlite": {"concurrent", "long-session"},
    "adk_sqlite": {"retry", "stale-writer"},
    "adk_database": {"retry", "stale-writer"},
    "claude_sdk_store": {"kept", "batch", "concurrent", "prefix", "retry", "other-body"},
}
KEPT_BY = {"openai_agents_sqlite", "langgraph_sqlite", "adk_sqlite", "adk_database"}


@pytest.mark.e2e
@pytest.mark.skipif(not PYTHON.exists(), reason="NOT RUN: other people's stores need `make peers` first")
@pytest.mark.parametrize("name", PEERS)
def test_a_peer_is_what_the_page_says(name: str, tmp_path: Path) -> None:
    def peer(*options: str) -> dict[str, str]:
        adapter = str(ROOT / "examples" / "stores" / f"{name}.py")
        options = ("--adapter", adapter, "--events", "1000", "--timeout", "240", "--json", *options)
        done = put_with(PYTHON, *options, artifacts=tmp_path)
        assert done.exit_code == 1
        return done.verdicts()

    verdicts = peer("--cycles", "6")
    assert (verdicts["kept"] == "proven") == (name in KEPT_BY)
    # A race that nobody lost in a few rounds is run for longer.
    if unseen := [clause for clause in PEERS[name] if verdicts[clause] != "disproven"]:
        again = peer("--only", ",".join(unseen), "--cycles", "60")
        assert {clause for clause in unseen if again[clause] != "disproven"} == set()


def test_every_peer_that_ships_an_adapter_is_run() -> None:
    shipped = {path.stem for path in (ROOT / "examples" / "stores").glob("*.py")}
    assert shipped == set(PEERS) | {"holdfast_sqlite", "holdfast_postgres"}
