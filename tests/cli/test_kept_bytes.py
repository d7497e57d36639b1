"""What is imported into a session that is there already, by way of the API, keeps its bytes."""

import asyncio
from pathlib import Path

from tests.cli.command import answer

from holdfast.store import open_store

FIRST = b'{"type":"note","eventId":"e1","details":{"a": 1}}\n'
ODD = b'{"type":"note","eventId":"e2","details":{"a":\r2,\t"b": "\\r\\n"}}\n'


def test_line_ends_and_blanks_within_a_line_stay_as_they_are(tmp_path: Path) -> None:
    actions = tmp_path / "in" / "sessions" / "one" / "actions.jsonl"
    actions.parent.mkdir(parents=True)
    for lines in (FIRST, FIRST + ODD):
        actions.write_bytes(lines)
        assert answer("sessions", "import", str(tmp_path / "in"), data=tmp_path / "data")["events"] == 1
    assert answer("sessions", "import", str(tmp_path / "in"), data=tmp_path / "data")["events"] == 0

    async def payloads() -> list[bytes]:
        async with await open_store(f"sqlite:///{tmp_path}/data/holdfast.db", read_only=True) as store:
            return [event.payload for event in await store.read("one") if event.type == "note"]

    assert asyncio.run(payloads()) == [b'{"a": 1}', b'{"a":\r2,\t"b": "\\r\\n"}']
