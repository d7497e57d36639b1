"""What a user stated, in whatever words, is still in the summary after many compactions."""

import pytest
from tests.runtime.conversation.places import Place, assistant, user

from holdfast.models import Message, Role
from holdfast.runtime import ConversationSession
from holdfast.runtime.facts import statements

FILLER = "Say something of no importance whatever, " * 8
PASTED_WORDS = ("new", "old", "dear", "known")


def summed_up_often(session: ConversationSession) -> str:
    """The summary after several compactions."""
    for _ in range(12):
        session.extend([user(FILLER), assistant("ok")])
        session.maybe_compact()
    assert session.compaction is not None
    assert session.compaction.count > 3
    return session.messages[0].text


@pytest.mark.parametrize(
    "stated",
    [
        "Ada likes tea.",
        "Deploys go to Frankfurt.",
        "Bob's sister Eve runs payroll.",
        "Use tabs, not spaces.",
        "Don't touch the legacy folder.",
        "Ich heiße Ada und wohne in Wien.",
        "Моя собака любит сыр.",
        "我叫小明。",
        "we moved to Oslo last year",
        "favourite colour: teal",
        "I'd rather have short answers.",
        "Create the config; the port is 8443.",
        "Tell Bob the door code is 4711.",
        "Write the report for ACME, whose deadline is Friday.",
    ],
)
def test_a_fact_in_any_words_survives(file_place: Place, stated: str) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=200)
    session.append(user(stated))
    assert stated in summed_up_often(session)


def test_a_fact_between_other_sentences_survives(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=200)
    session.append(user("Please read a.txt. The secret word lies beneath the oak. What does it say?"))
    assert "The secret word lies beneath the oak." in summed_up_often(session)
    assert "beneath the oak" in place.again(session).messages[0].text


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("My name is Ada, what is the capital of France?", "My name is Ada"),
        ("What is the capital of France, where Bob keeps the boat?", "where Bob keeps the boat"),
        ("The server is Hal and what is its port?", "The server is Hal"),
        ("Did I tell you that my badge is 7741?", "my badge is 7741"),
        ("did i mention that my favourite colour is teal?", "my favourite colour is teal"),
        ("What can I cook for my daughter Eve?", "my daughter Eve"),
        ("Ada likes tea, right?", "Ada likes tea"),
        ("Hab ich dir gesagt, dass der Ausweis in Wien liegt?", "der Ausweis in Wien"),
        ("Me llamo Ada, ¿cuál es la capital de Francia?", "Me llamo Ada"),
        ("我叫小明，法国的首都是哪里？", "我叫小明"),
    ],
)
def test_a_fact_inside_a_question_survives(file_place: Place, said: str, fact: str) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=200)
    session.append(user(said))
    assert fact in summed_up_often(session)


@pytest.mark.parametrize(
    "stated",
    [
        "Show it in euros, since we sell in Germany.",
        "Explain TLS to me, I know nothing of it.",
        "List hotels because she has lost hers.",
        "Find flights for me, Ada Lovelace, to Rome.",
        "Describe a good diet for Tom, who hates fish.",
        "Did you know that the launch code changed to 4411?",
        "Can you recommend something for Tom, who hates fish?",
        "Do you think vegan food suits a diabetic like me?",
    ],
)
def test_a_fact_on_the_way_of_a_request_survives_where_there_is_no_room_for_requests(
    file_place: Place, stated: str
) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=200)
    session.append(user(stated))
    for number in range(30):
        session.extend([user(f"Tell me about Person{number} and thing {number}. {FILLER}"), assistant("ok")])
        session.maybe_compact()
    assert stated in session.messages[0].text
    assert "Person3 " not in session.messages[0].text


def test_what_a_command_has_in_quotes_is_no_fact() -> None:
    assert statements("Append the line 'fish, she said, and chips' to a.txt, then read it.") == []
    assert statements('Write "we sell in Oslo, I know that it rains" to a.txt.') == []


@pytest.mark.parametrize("stated", ["Prefers tea.", "No nuts.", "Ada Lovelace.", "Vegetarian.", "call Bob"])
def test_a_fact_in_a_word_or_two_survives(file_place: Place, stated: str) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=200)
    session.append(user(stated))
    assert stated in summed_up_often(session)


def test_a_fact_late_in_a_long_sentence_survives(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=200)
    session.append(user("We walked on " + "and on and on " * 60 + "until Bob said that the door code is 4711."))
    assert "until Bob said that the door code is 4711." in summed_up_often(session)


@pytest.mark.parametrize(
    "fact",
    ["The badge of Eve opens door 7741.", "Backups go to `/mnt/tape`.", "Deploys are done by Mallory in Oslo."],
)
def test_a_fact_in_a_long_text_of_others_survives(file_place: Place, fact: str) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=200)
    paragraph = " ".join(f"nothing of this is {kind} to anybody at all." for kind in PASTED_WORDS)
    session.append(user(f"{paragraph * 20} {fact} {paragraph * 20}"))
    assert len(session.messages[0].text) > 6_000
    assert fact in summed_up_often(session)


def test_a_fact_late_in_a_long_text_without_sentences_survives(file_place: Place) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=2_000)
    session.append(user("on and on and " * 400 + "the door code is 4711, " + "on and on and " * 200))
    session.extend([user("Say something."), assistant("ok")] * 300)
    assert session.maybe_compact() is not None
    session.extend([user("Say something."), assistant("ok")] * 600)
    assert session.maybe_compact() is not None
    assert "the door code is 4711," in session.messages[0].text


def test_what_was_said_and_states_nothing_stays_as_long_as_there_is_room(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=1_000)
    session.append(user("What does the vegan daughter eat?"))
    session.extend([user(FILLER), assistant("ok")] * 20)
    assert session.maybe_compact() is not None
    assert "What does the vegan daughter eat?" in session.messages[0].text
    for number in range(100):
        session.extend([user(f"How many are {number} and 1? " + FILLER), assistant("ok")])
        session.maybe_compact()
        assert len(session.messages[0].text) < 3_500
    assert "What does the vegan daughter eat?" not in session.messages[0].text
    assert "What does the vegan daughter eat?" in [message.text for message in session.history()]
    assert "How many are 90 and 1?" in place.again(session).messages[0].text


def test_a_fact_in_a_part_of_a_message_survives(file_place: Place) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=200)
    session.append(Message(Role.USER, [{"type": "text", "text": "Ada likes tea."}]))
    assert "Ada likes tea." in summed_up_often(session)


@pytest.mark.parametrize(
    "asked",
    [
        "What is my name?",
        "Tell me what the weather is.",
        "Ada likes tea?",
        "Thank you.",
        "Do you know that?",
    ],
)
def test_what_states_nothing_gives_way(file_place: Place, asked: str) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=200)
    session.append(user(asked))
    assert asked not in summed_up_often(session)


def test_what_the_agent_said_is_no_fact_of_the_user(file_place: Place) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=200)
    session.extend([user("Say something."), assistant("My name is Bot.")])
    summed_up_often(session)
    assert session.compaction is not None
    assert session.compaction.facts == []


def test_the_same_messages_give_the_same_summary(place: Place) -> None:
    texts = []
    for _ in range(2):
        session = place.new(auto_compaction_input_tokens_threshold=200)
        session.append(user("Ada likes tea."))
        texts.append(summed_up_often(session))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("stated", "anew", "kept"),
    [
        ("My name is Ada and the server is called Hal.", "My name is Ada.", "Hal"),
        ("My city is Paris, the office lies near the river.", "My city is Rome.", "near the river"),
        ("My color is red; Bob likes green tea.", "My color is blue.", "Bob likes green tea"),
    ],
)
def test_what_was_said_beside_a_fact_outlives_its_change(file_place: Place, stated: str, anew: str, kept: str) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=200)
    session.extend([user(stated), user(anew)])
    text = summed_up_often(session)
    assert kept in text
    assert anew in text


@pytest.mark.parametrize(
    ("stated", "anew", "gone"),
    [
        ("Hi, my name is Ada.", "My name is Bea.", "Ada"),
        ("My favorite foods are bread and butter.", "My favorite foods are figs.", "butter"),
        ("My motto is «go, then stop at the river».", "My motto is «stay».", "river"),
        ("My name is Ada and my city is Paris.", "My city is Rome and my name is Bea.", "Paris"),
    ],
)
def test_a_fact_that_was_stated_anew_gives_way(file_place: Place, stated: str, anew: str, gone: str) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=200)
    session.extend([user(stated), user(anew)])
    text = summed_up_often(session)
    assert gone not in text
    assert anew in text
