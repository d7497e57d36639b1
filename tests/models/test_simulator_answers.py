"""The simulator's answer follows from the prompt alone."""

import pytest

from holdfast.models import Message, Role
from holdfast.models.simulator import SimulatorAnswer, answer


def user(text: str) -> Message:
    return Message(Role.USER, text)


def said(*texts: str) -> SimulatorAnswer:
    """The answer after the user said these, with an assistant's word between them."""
    messages = []
    for text in texts:
        messages += [user(text), Message(Role.ASSISTANT, "All right.")]
    return answer(messages[:-1])


def words(*texts: str) -> str:
    return said(*texts).response.content


def test_a_name_is_greeted() -> None:
    assert words("Hi, my name is Zq7kfa.") == "Nice to meet you, Zq7kfa."


@pytest.mark.parametrize("name", ["Ada", "Zq7kfa", "n0nce-42", "Zoë"])
@pytest.mark.parametrize("question", ["What's my name?", "what is my name?", "What’s my name?", "What is my name"])
def test_a_name_that_was_told_is_known(name: str, question: str) -> None:
    assert words(f"Hello! My name is {name}, remember it.", "Fine weather.", question) == f"Your name is {name}."


def test_a_name_that_was_not_told_is_not_known() -> None:
    assert words("What is my name?") == "I do not know your name."


def test_the_latest_name_counts() -> None:
    assert words("My name is Ada.", "No: my name is Grace.", "What is my name?") == "Your name is Grace."
    assert words("My name is Ada. My name is Grace. What is my name?") == "Your name is Grace."


@pytest.mark.parametrize(
    "text",
    [
        "recall-name: Recall the user's name",
        "name: Radia",
        "My name is not Radia.",
        "Tell me what my name is today.",
        "I wonder whether my name is Radia.",
        "Tell me if my name is Radia.",
        "Is it so that my name is Radia?",
        "My dog's name is Radia.",
        "My name is O'Brien.",
        "Append the line my name is Radia to the file notes.txt",
        "Say my name is Radia.",
    ],
)
def test_what_only_looks_like_a_name_is_none(text: str) -> None:
    assert words(text, "What is my name?") == "I do not know your name."


@pytest.mark.parametrize("role", [Role.SYSTEM, Role.ASSISTANT])
def test_a_name_from_system_or_assistant_is_not_known(role: Role) -> None:
    given = answer([Message(role, "My name is Radia."), user("What is my name?")])
    assert given.response.content == "I do not know your name."
    assert given.provenance.sources == ()


def test_an_answer_says_which_message_it_is_from() -> None:
    given = answer(
        [
            Message(Role.SYSTEM, "You are helpful."),
            user("My name is Ada."),
            Message(Role.ASSISTANT, "Nice to meet you, Bob."),
            user("What is my name?"),
        ]
    )
    (source,) = given.provenance.sources
    assert (source.index, source.role, source.value) == (1, Role.USER, "Ada")
    assert source.words == "My name is Ada."
    assert given.provenance.rule == "recall"


def test_a_tool_result_answers_a_question_that_the_user_never_answered() -> None:
    found = Message(Role.TOOL, "Found 1 memory: my name is Ada.", tool_call_id="call_1")
    given = answer([user("What is my name?"), found])
    assert given.response.content == "Your name is Ada."
    assert given.provenance.sources[0].role == Role.TOOL


def test_the_user_outranks_a_later_tool_result() -> None:
    found = Message(Role.TOOL, "my name is Radia", tool_call_id="call_1")
    given = answer([user("My name is Ada."), found, user("What is my name?")])
    assert given.response.content == "Your name is Ada."


@pytest.mark.parametrize("told", ["My favorite color is teal.", "my favourite colour is teal"])
@pytest.mark.parametrize("thing", ["favorite color", "favourite colour"])
def test_a_favorite_color_is_known_in_either_spelling(told: str, thing: str) -> None:
    assert words(told, f"What is my {thing}?") == f"Your {thing} is teal."


@pytest.mark.parametrize(
    ("told", "thing", "value"),
    [
        ("My city is New York.", "city", "New York"),
        ("my order number is A-4711", "order number", "A-4711"),
        ("My e-mail is ada@example.org, write to me.", "e-mail", "ada@example.org"),
        ("My name is Ada and my home planet is Mars", "home planet", "Mars"),
        ("My city is Rome and my dog's name is Rex.", "city", "Rome"),
        ("My city is Rome and my dog's name is Rex.", "dog's name", "Rex"),
    ],
)
def test_any_thing_of_up_to_three_words_is_known(told: str, thing: str, value: str) -> None:
    assert words(told, f"What is my {thing}?") == f"Your {thing} is {value}."


def test_one_thing_is_not_taken_for_another() -> None:
    assert words("My favorite color is teal.", "What is my color?") == "I do not know your color."


def test_two_questions_have_two_answers() -> None:
    given = said("My name is Ada.", "What is my name? What is my city?")
    assert given.response.content == "Your name is Ada. I do not know your city."
    assert [source.thing for source in given.provenance.sources] == ["name"]


def test_facts_that_are_told_are_noted() -> None:
    assert words("My name is Ada and my city is Rome.") == "Nice to meet you, Ada. Noted: your city is Rome."


def test_the_users_messages_are_counted() -> None:
    assert words("Hello.", "And again.", "How many messages have I sent?") == "You have sent 3 messages."
    assert words("How many messages have I sent?") == "You have sent 1 message."


def test_anything_else_comes_back() -> None:
    assert words("Lorem ipsum!") == "You said: Lorem ipsum!"
    assert words("Say cheese") == "You said: cheese"


@pytest.mark.parametrize("messages", [[], [user("")], [user(" \n")], [Message(Role.SYSTEM, "Be kind.")]])
def test_an_empty_prompt_is_called_one(messages: list[Message]) -> None:
    assert answer(messages).response.content == "I received an empty prompt."


def test_usage_is_a_token_for_every_four_characters_begun() -> None:
    given = answer([Message(Role.SYSTEM, "12345"), user("1234")])
    assert given.response.content == "You said: 1234"
    assert given.response.usage == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("Think for 2 seconds.", 2.0),
        ("My name is Ada. think for 0.25 seconds", 0.25),
        ("Think for 1 second, please.", 1.0),
        ("Think for 3600 seconds.", 60.0),
        ("Think for a while.", 0.0),
    ],
)
def test_the_delay_is_what_the_user_asks_for(text: str, delay: float) -> None:
    assert said(text).delay == delay


def test_an_earlier_wish_to_think_is_over() -> None:
    given = said("Think for 5 seconds.", "What is my name?")
    assert given.delay == 0.0
    assert said("My name is Ada.", "Think for 5 seconds. What is my name?").response.content == "Your name is Ada."


def test_the_same_prompt_has_the_same_answer() -> None:
    prompt = [
        user("Append the line a to the file b"),
        Message(Role.TOOL, "ok", tool_call_id="1"),
        user("Hi"),
    ]
    assert answer(prompt) == answer(list(prompt))


@pytest.mark.parametrize("value", ["two\nlines", "a \"b\" 'c' \\ {d}", "日本 語", "word " * 40 + "end"])
def test_a_value_in_guillemets_is_kept_whole(value: str) -> None:
    assert words(f"My city is «{value}».", "What is my city?") == f"Your city is {value}."


def test_what_was_taken_back_is_not_known_until_it_is_told_anew() -> None:
    before = ("My city is Rome.", "Please forget my city: I take it back.")
    assert words(*before, "What is my city?") == "I do not know your city."
    assert words(*before, "My city is Oslo.", "What is my city?") == "Your city is Oslo."
