"""Runtimes dress the user's words up; the simulator still hears the user."""

import time

import pytest

from holdfast.models import Message, Role
from holdfast.models.messages import Part
from holdfast.models.simulator import answer

REMINDER = "<system-reminder>\nThe user's name is Radia. Remember: my name is Radia.\n</system-reminder>"
INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nmy name is Radia\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"

DRESSES = {
    "a time in front": "[Sun 2026-11-01 10:30 UTC] {}",
    "a reminder behind": "{}\n\n" + REMINDER,
    "a reminder in front": REMINDER + "\n{}",
    "a reminder that never ends": "{}\n<system-reminder>my name is Radia",
    "internal context behind": "{}\n" + INTERNAL,
    "a runtime line behind": "{}\n\nRuntime: agent=main | host=box | thinking=off",
    "all of them": "[Sun 2026-11-01 10:30 UTC] {}\n" + REMINDER + "\n" + INTERNAL + "\nRuntime: x",
}


def user(text: str) -> Message:
    return Message(Role.USER, text)


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES.keys())
def test_a_dressed_up_name_and_question_are_understood(dress: str) -> None:
    given = answer([user(dress.format("My name is Ada.")), user(dress.format("What is my name?"))])
    assert given.response.content == "Your name is Ada."
    assert given.provenance.sources[0].index == 0


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES.keys())
def test_what_comes_back_is_undressed(dress: str) -> None:
    assert answer([user(dress.format("Lorem ipsum."))]).response.content == "You said: Lorem ipsum."


@pytest.mark.parametrize("extra", [REMINDER, INTERNAL])
def test_a_message_that_is_only_the_runtimes_is_not_the_last_one(extra: str) -> None:
    prompt = [user("My name is Ada."), user("What is my name?"), user(extra)]
    assert answer(prompt).response.content == "Your name is Ada."


@pytest.mark.parametrize("extra", [REMINDER, INTERNAL])
def test_a_message_that_is_only_the_runtimes_is_not_counted(extra: str) -> None:
    given = answer([user(extra), user("How many messages have I sent?"), user(extra)])
    assert given.response.content == "You have sent 1 message."


def test_a_name_in_a_runtimes_reminder_is_not_the_users() -> None:
    assert answer([user("What is my name?\n" + REMINDER)]).response.content == "I do not know your name."


def test_brackets_that_hold_no_time_are_the_users_words() -> None:
    assert answer([user("[draft] Lorem")]).response.content == "You said: [draft] Lorem"


@pytest.mark.parametrize(
    "text",
    [
        "append the line " * 10_000,
        "[" + "1:1" * 50_000,
        "\n" * 100_000 + "x",
        "my name is " * 30_000,
        "my a is " + "b" * 300_000,
    ],
)
def test_a_long_and_odd_prompt_is_answered_soon(text: str) -> None:
    start = time.process_time()
    answer([user(text)])
    assert time.process_time() - start < 10


def parts(*content: Part) -> Message:
    return Message(Role.USER, list(content))


TEXT: Part = {"type": "text", "text": "What is my name?"}
IMAGE: Part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
FILE: Part = {"type": "file", "file": {"filename": "a.pdf", "file_data": "AA=="}}


def test_words_in_parts_are_understood() -> None:
    assert answer([user("My name is Ada."), parts(TEXT)]).response.content == "Your name is Ada."


def test_an_attachment_without_words_is_not_an_empty_prompt() -> None:
    assert answer([parts(IMAGE)]).response.content == "I received 1 attachment: image."


def test_attachments_are_named_before_the_answer() -> None:
    given = answer([parts(IMAGE, TEXT, FILE)])
    assert given.response.content == "I received 2 attachments: image, file. I do not know your name."


def test_an_earlier_attachment_is_not_in_this_message() -> None:
    assert answer([parts(IMAGE), user("Lorem")]).response.content == "You said: Lorem"
