"""The bytes on the wire are the committed ones: if the sender drifts, what is proven is not what production does."""

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.prove.wire import envelopes
from holdfast.prove.wire.envelopes import FileSent, OutgoingMessage, WireVersion

GOLDEN = Path(__file__).parent / "envelopes"
MESSAGE_ID = "canary-0123456789ab"
CONTEXT_ID = "canary-ctx-ba9876543210"
TASK_ID = "task-7"

INLINE = FileSent("minutes.txt", "text/plain", data=b"The code word is albatross.\n")
REFERENCE = FileSent("minutes.txt", "text/plain", uri="workspace:/workspace/uploads/minutes.txt")


def message(text: str, *files: FileSent) -> OutgoingMessage:
    return OutgoingMessage(MESSAGE_ID, CONTEXT_ID, text, files)


HELLO = message("Hi, my name is Hongming.")
FOLLOW_UP = OutgoingMessage(MESSAGE_ID, None, "What's my name?", task_id=TASK_ID)

MADE: dict[str, Callable[[WireVersion], bytes]] = {
    "send-{}-waiting": lambda version: envelopes.send(version, HELLO, wait=True),
    "send-{}-at-once": lambda version: envelopes.send(version, HELLO, wait=False),
    "send-{}-file-only": lambda version: envelopes.send(version, message("", INLINE), wait=True),
    "send-{}-file-caption": lambda version: envelopes.send(version, message("summarize this", INLINE), wait=True),
    "send-{}-file-reference": lambda version: envelopes.send(version, message("summarize this", REFERENCE), wait=True),
    "send-{}-task-only": lambda version: envelopes.send(version, FOLLOW_UP, wait=True),
    "stream-{}": lambda version: envelopes.stream(version, HELLO),
    "get-task-{}": lambda version: envelopes.get_task(version, request_id=MESSAGE_ID, task_id=TASK_ID),
    "cancel-task-{}": lambda version: envelopes.cancel_task(version, request_id=MESSAGE_ID, task_id=TASK_ID),
    "subscribe-{}": lambda version: envelopes.subscribe(version, request_id=MESSAGE_ID, task_id=TASK_ID),
}


@pytest.mark.parametrize("version", WireVersion)
@pytest.mark.parametrize("name", MADE)
def test_an_envelope_is_sent_as_committed(name: str, version: WireVersion) -> None:
    file = f"{name.format(version.value)}.json"
    assert MADE[name](version) == (GOLDEN / file).read_bytes()


def test_an_upload_is_sent_as_committed() -> None:
    assert envelopes.upload("canary-0123456789ab", INLINE) == (GOLDEN / "upload.multipart").read_bytes()


def test_every_committed_envelope_is_compared() -> None:
    compared = {f"{name.format(version.value)}.json" for name in MADE for version in WireVersion}
    assert {file.name for file in GOLDEN.iterdir()} == compared | {"upload.multipart"}


def test_only_version_1_0_has_a_version_header() -> None:
    plain = {"Content-Type": "application/json", "Accept": "application/json"}
    assert WireVersion.V0_3.headers == plain
    assert WireVersion.V1_0.headers == {**plain, "A2A-Version": "1.0"}


def test_a_stream_is_asked_for_by_its_media_type() -> None:
    streaming = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    assert WireVersion.V0_3.stream_headers == streaming
    assert WireVersion.V1_0.stream_headers == {**streaming, "A2A-Version": "1.0"}
