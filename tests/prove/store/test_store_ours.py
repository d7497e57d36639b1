"""Our own store keeps the contract on both engines."""

from pathlib import Path

import pytest
from tests.prove.store.putting import ROOT, Put, put
from tests.support.postgres import Server

from holdfast.prove.store.clauses import contract

EXAMPLES = ROOT / "examples" / "stores"
SMALL = ("--cycles", "4", "--events", "1000", "--json")


def check(done: Put) -> None:
    """Proven in every clause: our store has words for all of them."""
    assert done.verdicts() == dict.fromkeys(contract(), "proven"), done.stdout
    assert done.exit_code == 0


def test_on_sqlite(tmp_path: Path) -> None:
    check(put("--adapter", str(EXAMPLES / "holdfast_sqlite.py"), *SMALL, artifacts=tmp_path))


@pytest.mark.long
def test_on_postgresql(tmp_path: Path, postgres: Server) -> None:
    environment = {"HOLDFAST_PROVE_POSTGRES": postgres.uri}
    adapter = str(EXAMPLES / "holdfast_postgres.py")
    check(put("--adapter", adapter, *SMALL, artifacts=tmp_path, environment=environment))


@pytest.mark.long
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_through_many_kills_and_races(engine: str, tmp_path: Path, postgres: Server) -> None:
    environment = {"HOLDFAST_PROVE_POSTGRES": postgres.uri}
    many = ("--cycles", "40", "--timeout", "600", "--json")
    adapter = str(EXAMPLES / f"holdfast_{engine}.py")
    check(put("--adapter", adapter, *many, artifacts=tmp_path, environment=environment, timeout=1200))
