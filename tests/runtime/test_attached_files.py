"""What the model is told of files: of this message, and of those before it."""

from pathlib import Path

from tests.runtime.desk import Conversation

from holdfast.models import CompletionResponse, Message, ScriptedBackend, SimulatorBackend
from holdfast.runtime import prompt_files
from holdfast.store import Store


def script(answers: int) -> ScriptedBackend:
    return ScriptedBackend([CompletionResponse("seen")] * answers)


def users(backend: ScriptedBackend) -> list[Message]:
    """What the user is heard to say in the last prompt."""
    return [message for message in backend.invocations[-1].messages if message.role == "user"]


async def test_text_is_told_now_and_later(store: Store, workspace: Path) -> None:
    backend = script(2)
    talk = Conversation(store, workspace, backend)
    notes = await talk.file("notes.txt", "text/plain; charset=utf-8", "the code is 4711 ü".encode())
    told = "[attached file: notes.txt (text/plain; charset=utf-8, 19 bytes)]\nthe code is 4711 ü\n[end of notes.txt]"
    await talk.say("Read this", notes)
    assert [message.content for message in users(backend)] == [f"Read this\n{told}"]
    await talk.say("And?")
    assert [message.content for message in users(backend)] == [f"Read this\n{told}", "And?"]


async def test_an_image_is_shown_now_and_named_later(store: Store, workspace: Path) -> None:
    backend = script(2)
    talk = Conversation(store, workspace, backend)
    await talk.say("", await talk.file("a.png", "image/png", b"\x89PNG"))
    assert users(backend)[0].content == [
        {"type": "text", "text": "[attached file: a.png (image/png, 4 bytes)]"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
    ]
    await talk.say("And?")
    assert users(backend)[0].content == "[attached file: a.png (image/png, 4 bytes)]"


async def test_other_files_are_named_and_described(store: Store, workspace: Path) -> None:
    backend = script(1)
    talk = Conversation(store, workspace, backend)
    files = [await talk.file("a.pdf", "application/pdf", b"%PDF"), await talk.file("b.bin", "x/y", b"\0")]
    await talk.say("", *files)
    assert users(backend)[0].content == (
        "[attached file: a.pdf (application/pdf, 4 bytes)]\n[attached file: b.bin (x/y, 1 bytes)]"
    )


async def test_old_files_are_told_as_far_as_the_budget_goes_the_newest_first(store: Store, workspace: Path) -> None:
    backend = script(4)
    talk = Conversation(store, workspace, backend)
    for name in ("a", "b", "c"):
        await talk.say(
            name, await talk.file(f"{name}.txt", "text/plain", name.encode() * (prompt_files.PAST_TEXTS // 2 - 1))
        )
    await talk.say("And?")
    lengths = [len(message.text) for message in users(backend)]
    assert lengths[0] < 100 < lengths[1]
    assert "a.txt" in users(backend)[0].text
    assert "end of c.txt" in users(backend)[2].text


async def test_a_long_text_is_cut_and_says_so(store: Store, workspace: Path) -> None:
    backend = script(1)
    talk = Conversation(store, workspace, backend)
    await talk.say("", await talk.file("long.txt", "text/plain", b"x" * (prompt_files.MAX_TEXT + 5)))
    assert users(backend)[0].text.endswith("x\n[5 more characters]\n[end of long.txt]")


async def test_the_simulator_knows_a_file_two_turns_later(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    await talk.say("Here is a file", await talk.file("notes.txt", "text/plain", b"The code word is zebra.\n"))
    await talk.say("Hello")
    assert "zebra" in await talk.say("What is the code word in notes.txt?")
