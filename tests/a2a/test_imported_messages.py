"""What a turn sees of a session that was imported from the older layout."""

import json

import pytest

from holdfast.a2a.protocol.wire import Role, text_of
from holdfast.a2a.turns.imported_messages import ImportedEntries, imported_entries, imported_message
from holdfast.core import Event


def entry(entry_id: str, parent: str | None, kind: str = "message", role: str = "user") -> dict[str, object]:
    said = {"role": role, "content": [{"type": "text", "text": f"said {entry_id}"}]}
    return {"type": kind, "id": entry_id, "parentId": parent, **({"message": said} if kind == "message" else {})}


def found_in(*entries: dict[str, object]) -> ImportedEntries:
    return imported_entries(
        Event(number, f"line-{each['id']}", str(each["type"]), json.dumps(each).encode(), 0, b"")
        for number, each in enumerate(entries, 1)
    )


def kept(*entries: dict[str, object]) -> str:
    """The ids of the entries that are part of the conversation."""
    gone = found_in(*entries).left_behind
    return "".join(str(each["id"]) for number, each in enumerate(entries, 1) if number not in gone)


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ("a- ba cb", "abc"),
        ("a- ba ca dc", "acd"),  # b was given up
        ("a- ba c- dc", "cd"),  # a new beginning
        ("a- b- c-", "abc"),  # nobody links anything
        ("a- ba c? dc", "abcd"),  # a parent that is not there: what stands before it
        ("", ""),
    ],
)
def test_the_way_back_from_the_newest_entry_is_the_conversation(links: str, expected: str) -> None:
    assert kept(*(entry(link[0], None if link[1] == "-" else link[1]) for link in links.split())) == expected


def test_a_reset_begins_anew() -> None:
    assert kept(entry("a", None), entry("b", "a", "reset"), entry("c", "b")) == "bc"


def test_entries_that_are_no_messages_stand_in_the_way_back() -> None:
    assert (
        kept(entry("a", None), entry("b", "a", "custom"), entry("c", "b", "branch_summary"), entry("d", "c")) == "abcd"
    )


def summed_up(entry_id: str, parent: str, kind: str = "compaction", **more: object) -> dict[str, object]:
    return {**entry(entry_id, parent, kind), "summary": f"summary {entry_id}", **more}


def told(*entries: dict[str, object]) -> str:
    """The ids of what a turn is told, in their order; those of summaries as capitals."""
    found = found_in(*entries)
    said = [(number, str(each["id"])) for number, each in enumerate(entries, 1) if "message" in each]
    summaries = [(seq, str(message.message_id).upper()) for seq, message in found.summaries]
    assert all(message.role is Role.USER and "summary " in text_of(message.parts) for _, message in found.summaries)
    return "".join(
        name for _, name in sorted([*(each for each in said if each[0] not in found.left_behind), *summaries])
    )


A, B, C = entry("a", None), entry("b", "a"), entry("c", "b")


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ((A, B, C, summed_up("s", "c", firstKeptEntryId="c"), entry("d", "s")), "Scd"),
        ((A, B, summed_up("s", "b"), entry("d", "s")), "Sd"),  # it names nothing that is kept
        ((A, summed_up("s", "a", firstKeptEntryId="none"), entry("d", "s")), "Sad"),  # or what is not there
        ((A, summed_up("s", "a", firstKeptEntryId="a"), entry("d", "s")), "Sad"),
        ((A, B, summed_up("s", "b"), entry("d", "s"), summed_up("t", "d", firstKeptEntryId="d")), "Td"),
        ((A, B, summed_up("s", "b"), entry("d", "a")), "ad"),  # on a branch that was given up
        ((A, summed_up("s", "a"), entry("r", "s", "reset"), entry("d", "r")), "d"),
        ((A, summed_up("s", "a", summary=" "), entry("d", "s")), "ad"),  # without words it stands for nothing
        ((A, summed_up("s", "a", summary=5), entry("d", "s")), "ad"),
        ((A, summed_up("s", "a", "branch_summary"), entry("d", "s")), "aSd"),
        ((A, summed_up("s", "a", "branch_summary"), B, summed_up("t", "s"), entry("d", "t")), "Td"),
    ],
)
def test_a_summary_is_told_in_the_place_of_what_it_sums_up(
    entries: tuple[dict[str, object], ...], expected: str
) -> None:
    assert told(*entries) == expected


@pytest.mark.parametrize(
    ("role", "expected"), [("user", Role.USER), ("assistant", Role.AGENT), ("toolResult", Role.AGENT)]
)
def test_who_said_it(role: str, expected: Role) -> None:
    message = imported_message(entry("a", None, role=role))
    assert message is not None
    assert (message.role, text_of(message.parts), message.message_id) == (expected, "said a", "a")


@pytest.mark.parametrize(
    "value", [None, 1, {}, {"type": "custom", "id": "x"}, entry("a", None, role="system"), {"type": "message", "id": 1}]
)
def test_what_nobody_said(value: object) -> None:
    assert imported_message(value) is None


def test_long_messages_are_whole() -> None:
    said = {**entry("a", None), "message": {"role": "user", "content": "x" * 100_000}}
    message = imported_message(said)
    assert message is not None
    assert len(text_of(message.parts)) == 100_000
