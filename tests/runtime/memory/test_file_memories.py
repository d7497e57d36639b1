"""Memories in a project's file keep the store's contract: its tests, run on the file; and what only a file can do."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.contract import test_memories_contract as contract
from tests.support.processes import spawn

from holdfast.core.errors import Corrupt, SchemaUnknown
from holdfast.runtime.memory.file_memories import FileMemories

test_any_value = contract.test_any_json_value_comes_back
test_bytes = contract.test_the_bytes_of_a_value_are_kept_as_they_came
test_versions = contract.test_every_version_is_kept_and_the_same_value_is_no_new_one
test_forgotten = contract.test_what_was_forgotten_is_not_found_but_in_the_history_and_counting_goes_on
test_null = contract.test_null_is_a_value_and_not_forgotten
test_never_was = contract.test_a_memory_that_never_was_is_not_found
test_expected = contract.test_another_expected_version_is_refused_with_the_current_value
test_retry = contract.test_a_retry_with_the_same_key_gives_the_first_result
test_retry_of_nothing = contract.test_a_retry_changes_nothing_also_if_the_first_changed_nothing
test_retry_after_erasure = contract.test_a_retry_brings_nothing_back_that_was_forgotten_or_erased
test_list = contract.test_a_list_is_paged_by_key_in_one_order
test_pages = contract.test_a_page_goes_on_where_it_ended_whatever_was_written_meanwhile


@pytest.fixture
def store(tmp_path: Path) -> SimpleNamespace:
    """What those tests know of a store."""
    return SimpleNamespace(memories=FileMemories(tmp_path))


@pytest.fixture
def memories(tmp_path: Path) -> FileMemories:
    return FileMemories(tmp_path)


async def found(memories: FileMemories, query: str, namespace: str | None = None) -> list[str]:
    return [hit.memory.key for hit in await memories.search(query, namespace=namespace)]


async def test_what_was_put_is_found_by_its_words_and_only_as_it_is_now(memories: FileMemories) -> None:
    await memories.put("ada", "drink", {"likes": ["strong Café", "tea"]})
    await memories.put("ada", "city", "London, in Piccadilly")
    await memories.put("bob", "other drink", "coffee or a café au lait")
    assert await found(memories, "cafe") == ["other drink", "drink"]
    assert await found(memories, "CAFÉ", "ada") == ["drink"]
    assert await found(memories, "picca*") == ["city"]
    assert await found(memories, '"au lait" -tea') == ["other drink"]
    assert await found(memories, '"cafe tea"') == []
    (hit,) = await memories.search("strong", limit=1)
    assert (hit.memory, hit.snippet, hit.highlights) == (await memories.get("ada", "drink"), "strong Café", ((0, 6),))
    await memories.put("ada", "drink", "water")
    await memories.forget("bob", "other drink")
    assert await found(memories, "cafe") == []


async def test_erasing_leaves_no_byte_of_a_value_in_the_file(memories: FileMemories, tmp_path: Path) -> None:
    for number in range(2):
        await memories.put("ada", "phone", f"555-{number}")
    await memories.erase("ada", "phone")
    history = await memories.history("ada", "phone")
    assert [(each.version, each.payload, each.erased_at is None) for each in history] == [
        (1, None, False),
        (2, None, False),
    ]
    assert b"555-" not in (tmp_path / ".holdfast" / "memory.json").read_bytes()
    assert (await memories.put("ada", "phone", "556")).version == 3


async def test_a_damaged_value_is_corrupt_and_can_be_put_again(memories: FileMemories, tmp_path: Path) -> None:
    await memories.put("ada", "name", "Augusta")
    path = tmp_path / ".holdfast" / "memory.json"
    path.write_bytes(path.read_bytes().replace(b"Augusta", b"Mallory"))
    for attempt in (memories.get("ada", "name"), memories.history("ada", "name"), memories.list("ada")):
        with pytest.raises(Corrupt):
            await attempt
    assert (await memories.put("ada", "name", "Augusta")).version == 2
    path.write_bytes(b"{")
    with pytest.raises(Corrupt):
        await memories.put("ada", "name", "x")
    assert path.read_bytes() == b"{"
    path.write_bytes(b'{"format":2}')
    with pytest.raises(SchemaUnknown):
        await memories.get("ada", "name")


def count(root: str, who: int) -> None:
    """Put a number of memories."""

    async def run() -> None:
        for number in range(25):
            await FileMemories(Path(root)).put("ada", "n", [who, number])

    asyncio.run(run())


async def test_two_processes_lose_nothing_of_each_other(memories: FileMemories, tmp_path: Path) -> None:
    children = [spawn(count, str(tmp_path), who) for who in (0, 1)]
    for child in children:
        child.join()
    history = await memories.history("ada", "n")
    assert sorted(each.value() for each in history) == [[who, number] for who in (0, 1) for number in range(25)]
    assert list((tmp_path / ".holdfast").glob("*.tmp")) == []
