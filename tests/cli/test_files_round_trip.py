"""Sessions as plain files and back: all that the files say comes in, so that what goes out again is the same."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import answer, run

from holdfast.store import NewEvent, Store, open_store


def contents(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


async def rich(store: Store) -> None:
    """Sessions with all that files can say."""
    own = {"model": "m-1", "tokenUsage": {"input": 10, "output": 5}, "metrics": {"turns": 2}}
    await store.sessions.create(
        "rich",
        user_id="ada",
        agent="pilot",
        initial={"input": "fly"},
        metadata=own,
        tags=["b", "a"],
        parent_session="up",
    )
    await store.append("rich", [NewEvent("search", b'{ "n" : 1.10 }', "e1", "k1"), NewEvent("response", {"n": 2})])
    await store.append("rich", [NewEvent("holdfast.response", {"text": "found"}, parent_id="e1")])
    for n in range(3):
        await store.state.patch("rich", {"phase": n, "deep": {str(n): [1, None]}})
    await store.goals.add("rich", "land", priority="high")
    await store.goals.add("rich", "start", goal_id="go", created_at=1_000, completed_at=2_000, status="completed")
    await store.goals.update("rich", "goal-001", {"status": "failed", "description": "land safely"})
    await store.agents.spawn("rich", "cook", {"dish": 1}, agent_id="c1")
    await store.agents.spawn("rich", "scout", agent_id="s1")
    await store.agents.complete("rich", "s1", "failed", {"wind": 3})
    await store.append("rich", [NewEvent("last", {"secret": 1})])
    seq = (await store.sessions.get("rich")).head_seq
    await store.erasure.erase("rich", [seq], reason="asked")
    await store.sessions.finalize("rich", "failed", outcome={"why": "wind"}, response="sorry")
    await store.append("plain", [NewEvent("x", {"n": n}) for n in range(3)])
    await store.forks.fork("plain", at=2, new_session_id="forked")
    await store.keys.resolve("k", session_id="plain")
    await store.keys.reset("k", new_session_id="next")


@pytest.fixture
def full(tmp_path: Path) -> Path:
    async def make() -> None:
        async with await open_store(f"sqlite:///{tmp_path}/full/holdfast.db") as store:
            await rich(store)

    asyncio.run(make())
    return tmp_path / "full"


@pytest.mark.parametrize(("layout", "engine"), [("files", "sqlite_url"), ("seed", "postgres_url")])
def test_export_import_and_export_give_the_same_files(
    tmp_path: Path, full: Path, layout: str, engine: str, request: pytest.FixtureRequest
) -> None:
    other = tmp_path / "other"
    to = ("--store", request.getfixturevalue(engine))
    answer("sessions", "export", "--layout", layout, "-o", str(tmp_path / "one"), data=full)
    done = answer("sessions", "import", str(tmp_path / "one"), *to, data=other)
    assert (sorted(done["sessions"]), done["refused"], done["skipped"]) == (["forked", "next", "plain", "rich"], [], [])
    answer("sessions", "export", "--layout", layout, "-o", str(tmp_path / "two"), *to, data=other)
    one = contents(tmp_path / "one")
    assert contents(tmp_path / "two") == one
    assert ("sessions/rich/responses.jsonl" in one) == (layout == "files")
    again = answer("sessions", "import", str(tmp_path / "one"), *to, data=other)
    assert (again["events"], sorted(again["thereBefore"])) == (0, ["forked", "next", "plain", "rich"])
    answer("sessions", "export", "--layout", layout, "-o", str(tmp_path / "three"), *to, data=other)
    assert contents(tmp_path / "three") == one, "a second import changed something"
    assert run("sessions", "verify", *to, data=other).exit_code == 0


def test_seed_has_responses_among_the_actions(tmp_path: Path, full: Path) -> None:
    answer("sessions", "export", "rich", "--layout", "seed", "-o", str(tmp_path / "seed"), data=full)
    lines = (tmp_path / "seed" / "sessions" / "rich" / "actions.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert [(line["type"], "seq" in line) for line in found] == [
        ("search", True),
        ("response", True),
        ("response", False),
        ("last", True),
    ]
    refused = answer("sessions", "export", "rich", "--layout", "files", "-o", str(tmp_path / "seed"), data=full, code=2)
    assert refused["code"] == "invalid_input"


def test_all_that_another_service_wrote_comes_in(tmp_path: Path) -> None:
    folder = tmp_path / "files" / "sessions" / "theirs"
    folder.mkdir(parents=True)
    metadata: dict[str, Any] = {
        "sessionId": "theirs",
        "userId": "ada",
        "status": "completed",
        "model": "m-1",
        "tokenUsage": {"input": 10, "output": 5},
        "metrics": {"turns": 2},
        "parentSession": "up",
        "createdAt": "2026-02-13T10:00:00Z",
        "updatedAt": 1_770_980_400_000,
        "tags": ["t"],
    }
    goal = {"id": "goal-007", "description": "fly", "status": "completed", "createdAt": 1_000, "completedAt": 2_000}
    state = {"phase": "end", "goals": [goal], "agents": [{"agentId": "a", "type": "cook"}], "version": 7}
    (folder / "metadata.json").write_text(json.dumps(metadata))
    (folder / "state.json").write_text(json.dumps(state))
    lines = ['{"type":"step","n":1}', '{"type":"response","text":"hi"}', '{"type":"x","details":{},"beside":1}']
    (folder / "actions.jsonl").write_text("\n".join(lines) + "\n")
    data = tmp_path / "data"
    done = answer("sessions", "import", str(tmp_path / "files"), data=data)
    assert done["events"] == 3
    assert [(each["file"], each["line"], "'beside'" in each["reason"]) for each in done["skipped"]] == [
        ("theirs/actions.jsonl", 3, True)
    ]

    async def look() -> None:
        async with await open_store(f"sqlite:///{data}/holdfast.db") as store:
            session = await store.sessions.get("theirs")
            assert (session.user_id, session.status, session.tags) == ("ada", "completed", ("t",))
            assert session.metadata == {name: metadata[name] for name in ("model", "tokenUsage", "metrics")}
            assert session.lineage == {"parentSession": "up"}
            assert (session.created_at, session.updated_at) == (1_770_976_800_000, 1_770_980_400_000)
            found = await store.state.get("theirs")
            assert (found.version, found.document) == (7, {"phase": "end"})
            (reached,) = await store.goals.list("theirs")
            assert (reached.goal_id, reached.created_at, reached.completed_at) == ("goal-007", 1_000, 2_000)
            assert [agent.agent_id for agent in await store.agents.list("theirs")] == ["a"]
            events = await store.read("theirs")
            assert [(event.type, event.value()) for event in events[:2]] == [
                ("step", {"n": 1}),
                ("holdfast.response", {"text": "hi"}),
            ]
            assert (await store.verification.session("theirs")).problem is None

    asyncio.run(look())
