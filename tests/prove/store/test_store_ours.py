"""Our own store keeps the contract on both engines."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.prove.store.putting import ROOT, Put, put
from tests.support.postgres import Server

from holdfast.prove.store.clauses import contract

EXAMPLES = ROOT / "examples" / "stores"
QUICK = ("isolation", "kept", "round-trip", "batch", "damage", "deleted", "other-body", "retry", "tenants")


def check(done: Put, clauses: Iterable[str]) -> None:
    """Proven in every clause: our store has words for all of them."""
    assert done.verdicts() == dict.fromkeys(clauses, "proven"), done.stdout
    assert done.exit_code == 0


def test_in_the_clauses_that_are_quick(tmp_path: Path) -> None:
    small = ("--only", ",".join(QUICK), "--cycles", "8", "--json")
    check(put("--adapter", str(EXAMPLES / "holdfast_sqlite.py"), *small, artifacts=tmp_path), QUICK)


@pytest.mark.long(seconds=50)
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_through_many_kills_and_races(engine: str, tmp_path: Path, postgres: Server) -> None:
    environment = {"HOLDFAST_PROVE_POSTGRES": postgres.uri}
    many = ("--timeout", "600", "--json")
    adapter = str(EXAMPLES / f"holdfast_{engine}.py")
    check(put("--adapter", adapter, *many, artifacts=tmp_path, environment=environment), contract())
