"""The bytes on the wire are the committed ones: if the sender drifts, what is proven is not what production does."""

from pathlib import Path

import pytest

from holdfast.prove.envelopes import WireVersion, get_task, send_text

GOLDEN = Path(__file__).parent / "envelopes"
MESSAGE_ID = "canary-0123456789ab"
CONTEXT_ID = "canary-ctx-ba9876543210"


@pytest.mark.parametrize("version", WireVersion)
@pytest.mark.parametrize("wait", [True, False])
def test_a_turn_is_sent_as_committed(version: WireVersion, wait: bool) -> None:
    sent = send_text(
        version,
        message_id=MESSAGE_ID,
        context_id=CONTEXT_ID,
        text="Hi, my name is Hongming.",
        wait=wait,
    )
    file = f"send-{version.value}-{'waiting' if wait else 'at-once'}.json"
    assert sent == (GOLDEN / file).read_bytes()


@pytest.mark.parametrize("version", WireVersion)
def test_a_task_is_asked_for_as_committed(version: WireVersion) -> None:
    sent = get_task(version, request_id=MESSAGE_ID, task_id="task-7")
    assert sent == (GOLDEN / f"get-task-{version.value}.json").read_bytes()


def test_only_version_1_0_has_a_version_header() -> None:
    plain = {"Content-Type": "application/json", "Accept": "application/json"}
    assert WireVersion.V0_3.headers == plain
    assert WireVersion.V1_0.headers == {**plain, "A2A-Version": "1.0"}
