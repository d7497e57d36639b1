"""Runs of proofs over HTTP: posted once, kept as they came, listed with those of a folder; nothing else gets in."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from holdfast.gateway.access.authority import TokenHolders
from holdfast.gateway.app import create_app
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.proofs.folder import ProofFolder
from holdfast.store import Store, open_store

MEBIBYTE = 1024 * 1024
OUTCOME = {"name": "name", "claim": "it knows it", "verdict": "proven", "fault": False, "reason": "", "seconds": 0.1}


def run(number: int = 0, **members: Any) -> dict[str, Any]:
    """The summary of a run."""
    return {
        "format": 1,
        "verdict": "proven",
        "exit_code": 0,
        "target": {"name": "bundled", "command": "holdfast serve"},
        "started_at": f"2026-02-01T00:00:{number:02d}.000Z",
        "seconds": 1.5,
        "prerequisites": [],
        "proofs": [OUTCOME],
        "left_out": {"upgrade": "there is no next version"},
        **members,
    }


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with await open_store(store_url) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "evidence"
    made.mkdir()
    return made


@pytest.fixture
def app(store: Store, folder: Path, tmp_path: Path) -> FastAPI:
    gateway = Gateway(store, tmp_path)
    gateway.proofs_folder = folder
    return create_app(store, gateway=gateway)


def lay(folder: Path, kind: str, name: str, content: bytes | dict[str, Any]) -> Path:
    """A run in a folder of evidence."""
    path = folder / kind / name / "summary.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


async def listed(client: httpx2.AsyncClient, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get(f"/api/proofs{query}")).json()["proofs"]
    return found


async def test_a_run_is_kept_once_and_comes_back_as_it_came(client: httpx2.AsyncClient) -> None:
    raw = json.dumps(run(more={"a number": 1.50}), indent=3).encode()
    first = await client.post("/api/proofs", content=raw)
    again = await client.post("/api/proofs", content=raw)
    assert (first.status_code, again.status_code) == (201, 200)
    proof_id = first.json()["proofId"]
    assert again.json() == {"proofId": proof_id}
    shown = await client.get(f"/api/proofs/{proof_id}")
    assert shown.content == raw + b"\n"
    assert shown.headers["content-type"] == "application/json"
    (row,) = await listed(client)
    assert row == {
        "proofId": proof_id,
        "source": "posted",
        "kind": "runtime",
        "target": "bundled",
        "verdict": "proven",
        "startedAt": "2026-02-01T00:00:00.000Z",
        "seconds": 1.5,
        "counts": {"proven": 1, "disproven": 0, "inconclusive": 0, "notReached": 0, "leftOut": 1, "fault": 0},
        "results": [{"name": "name", "verdict": "proven"}],
    }


async def test_every_prover_has_its_kind_and_a_fault_is_a_verdict(client: httpx2.AsyncClient) -> None:
    faulty = OUTCOME | {"verdict": "inconclusive", "fault": True}
    runs = {
        "explore": run(1, explored={"histories": 3}),
        "live": run(2, session_key="agent:main:x", proofs=[OUTCOME | {"verdict": "not reached"}, faulty]),
        "runtime": run(3),
    }
    clauses = run(4, store="my store", clauses=[OUTCOME | {"verdict": "not offered"}])
    del clauses["proofs"], clauses["target"]
    for each in (*runs.values(), clauses):
        assert (await client.post("/api/proofs", json=each)).status_code == 201
    found = {row["kind"]: row for row in await listed(client)}
    assert [*found] == ["store", "runtime", "live", "explore"], "the last begun first"
    assert (found["store"]["target"], found["store"]["counts"]["leftOut"]) == ("my store", 2)
    assert [each["verdict"] for each in found["live"]["results"]] == ["not reached", "fault"]
    assert (found["live"]["counts"]["notReached"], found["live"]["counts"]["fault"]) == (1, 1)
    for kind in found:
        assert [row["kind"] for row in await listed(client, f"?kind={kind}")] == [kind]
    assert (await client.get("/api/proofs?kind=other")).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"<html>",
        b'"text"',
        b'{"format":1}',
        b'{"format":1,"format":1}',
        b"\xff\xfe",
        b"[" * 100,
        json.dumps(run(format=2)).encode(),
        json.dumps(run(verdict="green")).encode(),
        json.dumps(run(verdict=None)).encode(),
        json.dumps(run(started_at="yesterday")).encode(),
        json.dumps(run(started_at="0001-01-01T00:00:00Z")).encode(),
        json.dumps(run(started_at="9999-12-31T23:59:59-23:59")).encode(),
        json.dumps(run(seconds=-1)).encode(),
        json.dumps(run(seconds="1")).encode(),
        json.dumps(run(proofs="all")).encode(),
        json.dumps(run(proofs=[{"name": "x"}])).encode(),
        json.dumps(run(proofs=[{"name": "", "verdict": "proven"}])).encode(),
        json.dumps(run(proofs=[{"name": "x" * 201, "verdict": "proven"}])).encode(),
        json.dumps(run(proofs=[{"name": "x", "verdict": "proven", "claim": ["<b>"]}])).encode(),
        json.dumps(run(proofs=[OUTCOME] * 1_001)).encode(),
        json.dumps(run(clauses=[])).encode(),
        json.dumps({name: value for name, value in run().items() if name != "proofs"}).encode(),
        json.dumps(run(target="text")).encode(),
        json.dumps(run(left_out=["x"])).encode(),
    ],
)
async def test_what_is_no_summary_is_refused(client: httpx2.AsyncClient, body: bytes) -> None:
    answer = await client.post("/api/proofs", content=body)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json"), answer.text
    assert await listed(client) == []


async def test_a_run_has_either_proofs_or_clauses(client: httpx2.AsyncClient) -> None:
    proofs = run()["proofs"]
    neither = {name: value for name, value in run().items() if name != "proofs"}
    for body in (run(clauses=proofs), neither):
        answer = await client.post("/api/proofs", json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
        assert "either proofs or clauses" in answer.json()["detail"]
    assert (await client.post("/api/proofs", json=neither | {"clauses": proofs, "store": "s"})).status_code == 201


async def test_a_body_of_more_than_a_mebibyte_is_refused_and_one_of_that_is_taken(client: httpx2.AsyncClient) -> None:
    empty = len(json.dumps(run(filler="")))
    whole = json.dumps(run(filler="x" * (MEBIBYTE - empty))).encode()
    assert len(whole) == MEBIBYTE
    assert (await client.post("/api/proofs", content=whole)).status_code == 201
    answer = await client.post("/api/proofs", content=whole + b" ")
    assert (answer.status_code, answer.json()["code"], answer.json()["limit"]) == (413, "too_large", MEBIBYTE)


async def test_pages_go_on_where_the_one_before_ended(client: httpx2.AsyncClient, folder: Path) -> None:
    for number in range(0, 10, 2):
        await client.post("/api/proofs", json=run(number))
        lay(folder, "prove", f"2026020{number}", run(number + 1))
    begun: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await client.get(f"/api/proofs?limit=3&cursor={cursor}")).json()
        assert len(page["proofs"]) <= 3
        begun += [row["startedAt"] for row in page["proofs"]]
        cursor = page["cursor"]
    assert begun == [f"2026-02-01T00:00:{number:02d}.000Z" for number in range(9, -1, -1)]
    for wrong in ("x", "1", "1.p-x", "-1.p-" + "0" * 32):
        assert (await client.get(f"/api/proofs?cursor={wrong}")).status_code == 400


async def test_runs_of_a_folder_are_listed_and_shown(client: httpx2.AsyncClient, folder: Path) -> None:
    path = lay(folder, "prove", "20260201T000000-000Z", run())
    (folder / "prove" / "latest").symlink_to(path.parent.name)
    lay(folder, "live", "20260202T000000-000Z", run(5, session_key="k"))
    rows = await listed(client)
    assert [(row["source"], row["kind"]) for row in rows] == [("folder", "live"), ("folder", "runtime")]
    shown = await client.get(f"/api/proofs/{rows[1]['proofId']}")
    assert shown.json() == run()
    assert "evidence" not in rows[0]["proofId"]


async def test_nothing_outside_the_folder_and_nothing_that_is_no_summary(tmp_path: Path, folder: Path) -> None:
    secret = lay(tmp_path, "elsewhere", "r", run(1))
    lay(folder, "prove", "broken", b"{")
    lay(folder, "prove", "large", b" " * (MEBIBYTE + 1))
    lay(folder, "prove", "other", {"secret": 1})
    lay(folder, ".hidden", "r", run(2))
    (folder / "linked-kind").symlink_to(secret.parents[1])
    (folder / "prove" / "linked-run").symlink_to(secret.parent)
    (folder / "prove" / "linked-file").mkdir()
    (folder / "prove" / "linked-file" / "summary.json").symlink_to(secret)
    (folder / "prove" / "pipe").mkdir()
    os.mkfifo(folder / "prove" / "pipe" / "summary.json")
    (folder / "prove" / "deep" / "summary.json").mkdir(parents=True)
    (folder / "a file").write_text("x")
    assert await ProofFolder(folder).runs() == []
    assert await ProofFolder(tmp_path / "nowhere").runs() == []
    assert await ProofFolder(None).runs() == []


async def test_a_file_that_became_a_link_is_not_read(client: httpx2.AsyncClient, folder: Path, tmp_path: Path) -> None:
    path = lay(folder, "prove", "r", run())
    (row,) = await listed(client)
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps(run(7)))
    path.unlink()
    path.symlink_to(secret)
    answer = await client.get(f"/api/proofs/{row['proofId']}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_only_the_newest_of_a_folder_are_listed(folder: Path) -> None:
    for number in range(203):
        lay(folder, "prove", f"r{number:04d}", run(number % 60, seed=number))
    found = await ProofFolder(folder).runs()
    assert len(found) == 200


@pytest.mark.parametrize("proof_id", ["nobody", "p-" + "0" * 32, "f-" + "0" * 32, "f-..%2f..%2fetc", "..", "p-%00"])
async def test_what_is_not_there_is_a_404(client: httpx2.AsyncClient, proof_id: str) -> None:
    answer = await client.get(httpx2.URL(f"http://localhost/api/proofs/{proof_id}"))
    assert answer.status_code in {400, 404}
    assert answer.headers["content-type"] == "application/problem+json"


async def test_who_may_post_and_who_may_see(store: Store, folder: Path, tmp_path: Path) -> None:
    gateway = Gateway(store, tmp_path, TokenHolders(store, {}))
    gateway.proofs_folder = folder
    lay(folder, "prove", "r", run(9))
    scopes = ("proofs", "read", "write", "admin", "operator")
    tokens = {scope: (await store.tokens.create(scope, [scope]))[1] for scope in scopes}
    tokens["other"] = (await store.tokens.create("other", ["admin"], tenant="other"))[1]
    transport = httpx2.ASGITransport(create_app(store, gateway=gateway))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as client:

        async def ask(who: str, method: str, path: str, **given: Any) -> httpx2.Response:
            return await client.request(method, path, headers={"Authorization": f"Bearer {tokens[who]}"}, **given)

        posted = {who: (await ask(who, "POST", "/api/proofs", json=run(n))) for n, who in enumerate(scopes)}
        assert {who: each.status_code for who, each in posted.items()} == {
            "proofs": 201,
            "read": 403,
            "write": 403,
            "admin": 201,
            "operator": 201,
        }
        assert posted["write"].json()["needs"] == "proofs"
        assert (await ask("proofs", "GET", "/api/proofs")).json()["needs"] == "read"
        assert (await ask("proofs", "GET", "/api/sessions")).status_code == 403
        seen = {
            who: (await ask(who, "GET", "/api/proofs")).json()["proofs"]
            for who in ("read", "admin", "operator", "other")
        }
        assert {who: len(rows) for who, rows in seen.items()} == {"read": 3, "admin": 3, "operator": 4, "other": 0}
        (lying,) = [row["proofId"] for row in seen["operator"] if row["source"] == "folder"]
        assert (await ask("operator", "GET", f"/api/proofs/{lying}")).status_code == 200
        assert (await ask("admin", "GET", f"/api/proofs/{lying}")).status_code == 404
        mine = posted["admin"].json()["proofId"]
        assert (await ask("other", "GET", f"/api/proofs/{mine}")).status_code == 404
