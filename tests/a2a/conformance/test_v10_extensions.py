"""Version 1.0: extensions."""

import pytest
from tests.a2a.conformance.speaker import Speaker

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNKNOWN = "https://extensions.example/geolocation/v1"


async def test_no_extension_is_required(v10: Speaker) -> None:
    """1.0 §4.6.3: an extension that is not supported is ignored, unless the card requires it."""
    card = (await v10.client.http.get(v10.client.url + "/.well-known/agent-card.json")).json()
    assert [each for each in card["capabilities"].get("extensions", []) if each.get("required")] == []
    params = v10.message("hello", extensions=[UNKNOWN], metadata={UNKNOWN: {"latitude": 1}})
    answer = await v10.envelope("SendMessage", params, A2A_Extensions=f"{UNKNOWN},https://extensions.example/other")
    assert answer["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_what_extensions_say_is_kept(v10: Speaker) -> None:
    """1.0 §4: messages have all that the data model has: extensions, metadata, references to tasks."""
    other = await v10.send("hello")
    said = {"extensions": [UNKNOWN], "metadata": {UNKNOWN: {"latitude": 1}}, "referenceTaskIds": [other["id"]]}
    task = await v10.send("hello", **said)
    assert {name: task["history"][0].get(name) for name in said} == said
