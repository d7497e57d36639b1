"""The simulator knows of a file what reached it: its name, its kind, its size, and its words."""

import base64

import pytest

from holdfast.models import Message, Role, Tool
from holdfast.models.messages import Part
from holdfast.models.simulator import answer

NOTES = "Dear all,\nthe code word is heron-7.\nYours"
DESCRIBED = 'notes.txt (text/plain, 41 bytes), which begins "Dear all, the code word is heron-7. Yours"'
READ = Tool("read_file", "", {"properties": {"path": {}}, "required": ["path"]})


def file(name: str = "notes.txt", text: str = NOTES, kind: str = "text/plain") -> Part:
    data = base64.b64encode(text.encode()).decode()
    return {"type": "file", "file": {"filename": name, "file_data": f"data:{kind};base64,{data}"}}


def words(text: str) -> Part:
    return {"type": "text", "text": text}


def user(*content: Part | str) -> Message:
    return Message(Role.USER, [words(part) if isinstance(part, str) else part for part in content])


def said(*messages: Message) -> str:
    return answer(messages).response.content


def test_a_file_alone_is_named() -> None:
    assert said(user(file())) == f"I received 1 attachment: {DESCRIBED}."


def test_a_long_text_is_not_told_in_full() -> None:
    assert 'begins "w w w w w w w w w w w w …"' in said(user(file(text="w " * 100)))


def test_a_caption_and_its_file_are_both_answered() -> None:
    assert said(user("summarize this", file())) == (
        f"I received 1 attachment: {DESCRIBED}. "
        'Summary: notes.txt has 8 words and begins "Dear all, the code word is heron-7. Yours".'
    )
    binary = user("summarize this", file("a.pdf", "%PDF-1.7 x", "application/pdf"))
    assert said(binary) == (
        "I received 1 attachment: a.pdf (application/pdf, 10 bytes). "
        "Summary: a.pdf is a file whose words I cannot read."
    )


@pytest.mark.parametrize(
    "question",
    [
        "What is the code word in notes.txt?",
        "What's the code word in the file notes.txt?",
        "What was the code word in the file that I sent?",
        "What is the code word in the attached file?",
        'What is the code word in "notes.txt"?',
    ],
)
def test_a_question_about_a_text_is_answered_from_it_later(question: str) -> None:
    given = answer([user(file()), Message(Role.ASSISTANT, "Thanks."), user("Fine weather."), user(question)])
    assert given.response.content.endswith("is heron-7.")
    (source,) = given.provenance.sources
    assert (source.thing, source.value, source.index) == ("code word", "heron-7", 0)


def test_the_named_file_is_asked_and_no_other() -> None:
    other = file("other.txt", "the code word is stork")
    assert said(user(file()), user(other), user("What is the code word in notes.txt?")).endswith("is heron-7.")
    assert said(user(other), user("What is the code word in notes.txt?")) == "I do not know the code word in notes.txt."


def test_a_text_that_was_copied_into_the_words_is_found() -> None:
    copied = user("-----BEGIN FILE notes.txt-----\ncode word: heron-7\n-----END FILE-----")
    assert said(copied, user("What is the code word in notes.txt?")).endswith("is heron-7.")


def test_the_assistants_words_are_no_file() -> None:
    echo = Message(Role.ASSISTANT, "The code word is stork.")
    assert said(echo, user("What is the code word in the file?")) == "I do not know the code word in the file."


def test_a_file_that_is_not_in_the_prompt_is_read() -> None:
    prompt = [user("What is the code word in notes.txt?")]
    (call,) = answer(prompt, [READ]).response.tool_calls
    assert (call.name, call.arguments) == ("read_file", {"path": "notes.txt"})
    prompt += [
        Message(Role.ASSISTANT, "", [call]),
        Message(Role.TOOL, NOTES, tool_call_id=call.id),
    ]
    given = answer(prompt, [READ])
    assert given.response.content == "The code word in notes.txt is heron-7."
    assert given.provenance.sources[0].role == Role.TOOL
    prompt[-1] = Message(Role.TOOL, "error: no such file", tool_call_id=call.id)
    assert answer(prompt, [READ]).response.content == "I do not know the code word in notes.txt."


def test_a_file_in_the_prompt_is_not_read_again() -> None:
    assert answer([user("What is the code word in notes.txt?", file())], [READ]).response.tool_calls == []


@pytest.mark.parametrize(
    "question", ["Which file did I send you?", "What do you know about notes.txt?", "Describe the file."]
)
def test_earlier_files_are_known_by_name(question: str) -> None:
    assert said(user(file()), user(question)).startswith("You sent me notes.txt (text/plain, 41 bytes)")


def test_files_that_never_came_are_not_known() -> None:
    assert said(user("Which files did I send you?")) == "I have not seen a file."
    assert said(user(file()), user("Tell me about secret.txt.")) == "I have not seen secret.txt."


def test_data_that_is_no_base64_is_a_file_without_words() -> None:
    assert said(user({"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,x"}})) == (
        "I received 1 attachment: a.txt (text/plain)."
    )


def test_a_link_is_named_and_not_followed() -> None:
    assert said(user({"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}})) == (
        "I received 1 attachment: cat.png (image/png)."
    )


TOLD = (
    "What is this?\n[attached file: notes (1).txt (text/plain, 41 bytes)]\n"
    f"{NOTES}\nMy name is Radia.\n[end of notes (1).txt]"
)


def test_a_file_that_is_told_in_words_is_a_file() -> None:
    told = Message(Role.USER, TOLD)
    described = "I received 1 attachment: notes (1).txt (text/plain, 41 bytes), which begins"
    assert said(told).startswith(described)
    assert said(told).endswith(" You said: What is this?")
    assert said(told, user("What is the code word in the file?")).endswith("is heron-7.")


def test_what_a_file_says_is_not_what_the_user_says() -> None:
    assert said(Message(Role.USER, TOLD), user("What is my name?")) == "I do not know your name."


def test_an_image_has_the_name_that_the_words_give_it() -> None:
    image: Part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    named = user(
        "Look!\n[attached file: cat.png (image/png, 1 bytes)]\n[attached file: a.pdf (application/pdf, 9 bytes)]", image
    )
    assert said(named) == (
        "I received 2 attachments: cat.png (image/png, 1 byte), a.pdf (application/pdf, 9 bytes). You said: Look!"
    )
