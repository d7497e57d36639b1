"""A damaged event is named in a window of the log, and hides no other."""

from pathlib import Path

import apsw
import httpx2

from holdfast.store import NewEvent, Store


async def test_a_damaged_and_a_missing_event_are_named_and_the_others_shown(
    client: httpx2.AsyncClient, store: Store, tmp_path: Path
) -> None:
    await store.append("s", [NewEvent("a", {"n": n}) for n in range(1, 7)])
    with apsw.Connection(f"{tmp_path}/holdfast.db") as beside:
        beside.execute("UPDATE transcript_events SET payload = CAST('{}' AS BLOB) WHERE seq = 3")
        beside.execute("DELETE FROM transcript_events WHERE seq = 5")
    for query in ("", "?after=0", "?type=a"):
        page = (await client.get(f"/api/sessions/s/events{query}")).json()
        shown = [event["seq"] for event in page["events"]]
        damaged = [each["seq"] for each in page["damaged"]]
        # Event 6 follows a missing one, so nothing says that it is what was written.
        assert (shown, damaged) == ([1, 2, 4], [3, 6] if "type" in query else [3, 5, 6])
    one = await client.get("/api/sessions/s/events/3")
    assert (one.status_code, one.json()["code"]) == (500, "corrupt")
