"""What sessions do, on every engine: create, describe, list, end, hold."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.support.changes import assert_verified, types_of
from tests.support.interrupted import Twice
from tests.support.material import numbered

from holdfast.core import Session, types
from holdfast.core.errors import Conflict, IdempotencyConflict, InvalidInput, NotFound, SessionGone
from holdfast.store import Filter, NewEvent, Store, open_store


async def ids_of(store: Store, chosen: Filter | None = None, **page: Any) -> list[str]:
    return [session.session_id for session in (await store.sessions.list(chosen, **page)).sessions]


async def test_a_session_is_what_its_creator_said(store: Store) -> None:
    await store.sessions.create("parent")
    made = await store.sessions.create(
        "s",
        user_id="ada",
        agent="researcher",
        initial={"goal": "find out"},
        metadata={"team": {"size": 3}},
        tags=["b", "a", "b"],
        parent_session="parent",
    )
    session = made.session
    assert made.new
    assert (session.session_id, session.user_id, session.agent, session.status) == ("s", "ada", "researcher", "active")
    assert (session.initial, session.metadata) == ({"goal": "find out"}, {"team": {"size": 3}})
    assert session.tags == ("b", "a")
    assert session.lineage == {"parentSession": "parent"}
    assert (session.head_seq, session.final, session.held) == (1, None, False)
    assert session.size_bytes == sum(len(event.payload) for event in await store.read("s"))
    assert await store.sessions.get("s") == session
    await assert_verified(store, "s", "parent")


async def test_an_empty_initial_value_is_a_value(store: Store) -> None:
    values: list[Any] = [0, False, "", [], {}, 1.0]
    for initial in values:
        made = await store.sessions.create(initial=initial)
        assert made.session.initial == initial
        assert made.session.initial is not None
        await assert_verified(store, made.session.session_id)


async def test_an_id_is_made_if_none_is_given(store: Store) -> None:
    one, two = await store.sessions.create(), await store.sessions.create()
    assert one.new and two.new
    assert one.session.session_id != two.session.session_id


async def test_the_same_description_again_changes_nothing_and_another_is_a_conflict(store: Store) -> None:
    first = await store.sessions.create("s", user_id="ada", metadata={"a": 1, "b": 2})
    again = await store.sessions.create("s", user_id="ada", metadata={"b": 2, "a": 1})
    assert (again.session, again.new) == (first.session, False)
    for other in ({"user_id": "bob"}, {"user_id": "ada"}, {}):
        with pytest.raises(Conflict):
            await store.sessions.create("s", **other)  # type: ignore[arg-type]
    assert await types_of(store, "s") == ["session_created"]


async def test_a_session_that_began_with_an_append_is_described_later(store: Store) -> None:
    await store.append("s", numbered(1))
    made = await store.sessions.create("s", user_id="ada", tags=["late"])
    assert (made.new, made.session.user_id, made.session.tags) == (False, "ada", ("late",))
    assert await ids_of(store, Filter(tag="late")) == ["s"]
    await assert_verified(store, "s")


async def test_an_agent_that_is_not_named_stays_what_it_is(store: Store) -> None:
    await store.keys.resolve("k", session_id="s", agent="pilot")
    for _ in range(2):
        assert (await store.sessions.create("s", user_id="ada")).session.agent == "pilot"
    assert (await store.sessions.get("s")).user_id == "ada"
    assert (await store.sessions.create("s", user_id="ada", agent="pilot")).session.agent == "pilot"
    with pytest.raises(Conflict):
        await store.sessions.create("s", user_id="ada", agent="main")
    assert (await store.sessions.create("t")).session.agent == "main"
    assert (await store.sessions.create("t", agent="main")).session.agent == "main"
    await store.keys.resolve("k2", session_id="u", agent="pilot")
    assert (await store.sessions.create("u", agent="main")).session.agent == "main"
    await assert_verified(store, "s", "t", "u")


async def test_twenty_creators_at_once_make_one_session(store_url: str) -> None:
    async with await open_store(store_url) as one, await open_store(store_url) as two:
        made = await asyncio.gather(*(s.sessions.create("s", user_id="ada") for s in (one, two) for _ in range(10)))
        assert sum(each.new for each in made) == 1
        assert await types_of(one, "s") == ["session_created"]


async def test_a_creation_that_is_run_again_after_a_lost_answer_is_still_new(store: Store) -> None:
    again = replace(store.sessions, workers=Twice(store.sessions.workers))
    made = await again.create("s", user_id="ada", tags=["t"])
    assert made.new
    assert await types_of(store, "s") == ["session_created"]
    assert not (await again.create("s", user_id="ada", tags=["t"])).new
    await store.append("plain", numbered(1))
    assert not (await again.create("plain")).new
    await assert_verified(store, "s", "plain")


BAD_CREATIONS: list[dict[str, Any]] = [
    {"session_id": "a/b"},
    {"session_id": ".."},
    {"user_id": ""},
    {"user_id": "nul\0"},
    {"user_id": "lone\ud800"},
    {"user_id": "x" * 513},
    {"agent": ""},
    {"initial": object()},
    {"initial": float("nan")},
    {"metadata": [1]},
    {"metadata": "text"},
    {"metadata": {"a": {1: 2, "1": 3}}},
    {"tags": "text"},
    {"tags": 5},
    {"tags": [""]},
    {"tags": [5]},
    {"tags": ["nul\0"]},
    {"parent_session": "a b"},
]


async def test_a_bad_description_is_refused_and_makes_nothing(store: Store) -> None:
    for bad in BAD_CREATIONS:
        with pytest.raises(InvalidInput):
            await store.sessions.create(**bad)
    assert await ids_of(store) == []


async def test_metadata_merges_and_null_removes(store: Store) -> None:
    await store.sessions.create("s", metadata={"a": {"x": 1, "y": 2}, "b": [1, 2], "c": 3})
    patched = await store.sessions.patch_metadata("s", {"a": {"x": None, "z": 3}, "b": [9], "c": None, "d": True})
    assert patched.metadata == {"a": {"y": 2, "z": 3}, "b": [9], "d": True}
    assert (await store.sessions.get("s")) == patched
    await assert_verified(store, "s")


async def test_names_that_json_writes_alike_are_one_name(store: Store) -> None:
    """A caller in Python may use numbers as names: JSON does not, and the document must stay readable."""
    odd: Any = {1: "number", "list": (1, 2)}
    await store.sessions.create("s", metadata={"1": "text"})
    assert (await store.sessions.patch_metadata("s", odd)).metadata == {"1": "number", "list": [1, 2]}
    await store.state.patch("s", {"1": "text"})
    assert (await store.state.patch("s", odd)).document == {"1": "number", "list": [1, 2]}
    assert (await store.state.get("s")).document == {"1": "number", "list": [1, 2]}
    await assert_verified(store, "s")


async def test_tags_are_added_and_removed_in_order(store: Store) -> None:
    await store.sessions.create("s", tags=["a", "b"])
    tagged = await store.sessions.tag("s", add=["c", "a", "d"], remove=["b", "nobody"])
    assert tagged.tags == ("a", "c", "d")
    assert (await store.sessions.tag("s", add=["a"], remove=["a"])).tags == ("c", "d", "a")
    assert await ids_of(store, Filter(tag="b")) == []
    assert await ids_of(store, Filter(tag="d")) == ["s"]
    await assert_verified(store, "s")


async def test_a_finalized_session_has_its_outcome_and_may_go_on(store: Store) -> None:
    await store.sessions.create("s")
    ended = await store.sessions.finalize("s", "failed", outcome={"why": "no money"}, response="sorry")
    assert ended.status == "failed"
    final = ended.final or {}
    assert final.pop("at") == ended.updated_at
    assert final == {"status": "failed", "outcome": {"why": "no money"}, "response": "sorry"}
    await store.append("s", numbered(1))
    assert (await store.sessions.finalize("s")).status == "completed"
    await assert_verified(store, "s")


async def test_a_hold_is_laid_on_and_released(store: Store) -> None:
    await store.sessions.create("s")
    assert (await store.sessions.hold("s", True, reason="case 17")).held
    assert not (await store.sessions.hold("s", False)).held
    assert [event.value() for event in await store.read("s", types=[types.HOLD_CHANGED])] == [
        {"held": True, "reason": "case 17"},
        {"held": False, "reason": ""},
    ]
    await assert_verified(store, "s")


Change = Callable[[Store, str], Coroutine[Any, Any, Session]]


@dataclass(frozen=True)
class Keyed:
    """A change with a key, and another one that must not have the same key."""

    one: Change
    other: Change


KEYED = {
    "metadata": Keyed(
        lambda s, k: s.sessions.patch_metadata("s", {"a": 1}, idempotency_key=k),
        lambda s, k: s.sessions.patch_metadata("s", {"a": True}, idempotency_key=k),
    ),
    "tags": Keyed(
        lambda s, k: s.sessions.tag("s", add=["x"], idempotency_key=k),
        lambda s, k: s.sessions.tag("s", remove=["x"], idempotency_key=k),
    ),
    "finalize": Keyed(
        lambda s, k: s.sessions.finalize("s", "failed", outcome=1, idempotency_key=k),
        lambda s, k: s.sessions.finalize("s", "failed", outcome=1.0, idempotency_key=k),
    ),
}


async def test_a_keyed_change_counts_once(store: Store) -> None:
    await store.sessions.create("s")
    for name, keyed in KEYED.items():
        before = len(await store.read("s"))
        results = await asyncio.gather(*(keyed.one(store, name) for _ in range(8)))
        assert len({result.head_seq for result in results}) == 1
        with pytest.raises(IdempotencyConflict):
            await keyed.other(store, name)
        assert len(await store.read("s")) == before + 1
        await keyed.other(store, f"{name} 2")
        await assert_verified(store, "s")


async def test_holdfasts_own_keys_cannot_be_taken(store: Store) -> None:
    """Whoever took the creation's key could keep a session from ever being described."""
    await store.append("s", numbered(1))
    for keyed in KEYED.values():
        with pytest.raises(InvalidInput):
            await keyed.one(store, types.SESSION_CREATED)
    assert not (await store.sessions.create("s")).new


BAD_CHANGES: list[Callable[[Store], Coroutine[Any, Any, Any]]] = [
    lambda s: s.sessions.patch_metadata("s", [1]),  # type: ignore[arg-type]
    lambda s: s.sessions.patch_metadata("s", {"a": object()}),
    lambda s: s.sessions.patch_metadata("s", {"a": 1}, idempotency_key=""),
    lambda s: s.sessions.patch_metadata("s", {"a": 1}, idempotency_key=5),  # type: ignore[arg-type]
    lambda s: s.sessions.tag("s"),
    lambda s: s.sessions.tag("s", add="text"),
    lambda s: s.sessions.tag("s", add=5),  # type: ignore[arg-type]
    lambda s: s.sessions.tag("s", remove=[""]),
    lambda s: s.sessions.finalize("s", "exploded"),
    lambda s: s.sessions.finalize("s", ["completed"]),  # type: ignore[arg-type]
    lambda s: s.sessions.finalize("s", outcome=float("inf")),
    lambda s: s.sessions.hold("s", "yes"),  # type: ignore[arg-type]
    lambda s: s.sessions.hold("s", True, reason=5),  # type: ignore[arg-type]
    lambda s: s.sessions.get("a/b"),
    lambda s: s.sessions.tag("a/b", add=["x"]),
]


async def test_a_bad_change_is_refused_and_writes_nothing(store: Store) -> None:
    await store.sessions.create("s")
    for change in BAD_CHANGES:
        with pytest.raises(InvalidInput):
            await change(store)
    assert len(await store.read("s")) == 1


async def test_unknown_and_deleted_sessions_and_other_tenants_are_told_apart(store: Store) -> None:
    await store.sessions.create("mine")
    await store.sessions.create("gone")
    await store.deletion.delete("gone")
    stranger = store.for_tenant(f"{store.tenant}-stranger")

    def changes(view: Store, session_id: str) -> list[Coroutine[Any, Any, Session]]:
        return [
            view.sessions.get(session_id),
            view.sessions.patch_metadata(session_id, {"a": 1}),
            view.sessions.tag(session_id, add=["x"]),
            view.sessions.finalize(session_id),
            view.sessions.hold(session_id, True),
        ]

    for view, session_id, error in (
        (store, "nobody", NotFound),
        (stranger, "mine", NotFound),
        (store, "gone", SessionGone),
    ):
        for change in changes(view, session_id):
            with pytest.raises(error):
                await change
    assert await ids_of(stranger) == []
    assert await ids_of(store) == ["mine"]
    with pytest.raises(SessionGone):
        await store.sessions.create("gone")


async def fill(store: Store) -> None:
    """Thirty sessions: users u0..u2, tags even and all, statuses active and completed, created at 1000, 1001, …"""
    for number in range(30):
        await store.append(f"s{number:02}", [NewEvent("t", number, created_at=1_000 + number)])
        tags = ["all", "even"] if number % 2 == 0 else ["all"]
        await store.sessions.create(f"s{number:02}", user_id=f"u{number % 3}", tags=tags)
        if number % 5 == 0:
            await store.sessions.finalize(f"s{number:02}")


FILTERS: list[tuple[Filter, Callable[[int], bool]]] = [
    (Filter(), lambda n: True),
    (Filter(user_id="u1"), lambda n: n % 3 == 1),
    (Filter(tag="even"), lambda n: n % 2 == 0),
    (Filter(status="completed"), lambda n: n % 5 == 0),
    (Filter(created_from=1_010), lambda n: n >= 10),
    (Filter(created_to=1_010), lambda n: n < 10),
    (Filter(created_from=1_005, created_to=1_020), lambda n: 5 <= n < 20),
    (Filter("u0", "even", "completed", 1_000, 1_030), lambda n: n % 30 == 0),
    (Filter("u0", "even", "active", 1_006, 1_025), lambda n: n % 6 == 0 and n % 5 != 0 and 6 <= n < 25),
    (Filter(tag="nobody"), lambda n: False),
    (Filter(user_id="nobody"), lambda n: False),
]


async def test_lists_show_what_fits_newest_first_page_by_page(store: Store) -> None:
    await fill(store)
    stranger = store.for_tenant(f"{store.tenant}-stranger")
    await stranger.sessions.create("theirs", user_id="u1", tags=["even", "all"])
    for chosen, fits in FILTERS:
        expected = [f"s{number:02}" for number in reversed(range(30)) if fits(number)]
        assert await ids_of(store, chosen) == expected, chosen
        for limit in (1, 7):
            found: list[str] = []
            cursor: str | None = None
            for _ in range(31):
                page = await store.sessions.list(chosen, cursor=cursor, limit=limit)
                assert len(page.sessions) <= limit
                found += [session.session_id for session in page.sessions]
                cursor = page.cursor
                if cursor is None:
                    break
            assert found == expected, (chosen, limit)
    assert await ids_of(stranger, Filter(tag="all")) == ["theirs"]


async def test_a_page_that_is_just_full_is_the_last(store: Store) -> None:
    for number in range(3):
        await store.sessions.create(f"s{number}")
    assert (await store.sessions.list(limit=3)).cursor is None


async def test_sessions_made_between_two_pages_do_not_move_the_next(store: Store) -> None:
    for number in range(4):
        await store.sessions.create(f"s{number}")
    page = await store.sessions.list(limit=2)
    await store.sessions.create("newer")
    assert await ids_of(store, cursor=page.cursor, limit=2) == ["s1", "s0"]


BAD_LISTS: list[dict[str, Any]] = [
    {"limit": 0},
    {"limit": 501},
    {"limit": "5"},
    {"limit": True},
    {"cursor": "x"},
    {"cursor": "-1"},
    {"cursor": "１"},
    {"cursor": 5},
    {"chosen": Filter(user_id="nul\0")},
    {"chosen": Filter(tag="lone\ud800")},
    {"chosen": Filter(status="")},
    {"chosen": Filter(created_from="yesterday")},  # type: ignore[arg-type]
    {"chosen": Filter(created_to=2**70)},
]


async def test_a_bad_list_is_refused(store: Store) -> None:
    for bad in BAD_LISTS:
        with pytest.raises(InvalidInput):
            await store.sessions.list(**bad)
