"""Each checker judges a recorded history, and nothing else: here those of proofs that are turns alone."""

import pytest
from tests.prove.histories import (
    DISPROVEN,
    FORGOT,
    KNOWS,
    PROVEN,
    REFUSED,
    RUNNING,
    judge,
    look,
    saying,
    seen,
    turn,
)

from holdfast.prove.runtime import checks
from holdfast.prove.runtime.history import PeerQuestions, UploadRecord
from holdfast.prove.runtime.peer import PeerQuestion
from holdfast.prove.verdict import Verdict
from holdfast.prove.wire.replies import TargetReply


@pytest.mark.parametrize(
    ("verdict", "ask"),
    [
        (PROVEN, KNOWS),
        (DISPROVEN, FORGOT),
        (DISPROVEN, REFUSED),
        (DISPROVEN, RUNNING),
        (DISPROVEN, TargetReply(text="You are Hongmingsson.")),
        (PROVEN, TargetReply(text="HONGMING!")),
        (PROVEN, TargetReply(text="You are _Hongming_.")),
    ],
)
def test_name(verdict: Verdict, ask: TargetReply) -> None:
    finding = judge("name", turn("tell"), turn("ask", ask))
    assert finding.verdict is verdict
    assert (finding.curl == "curl ask") == (verdict is DISPROVEN)


def test_an_answer_that_was_put_elsewhere_is_told_of() -> None:
    elsewhere = TargetReply(text="I do not know.", context_id="made-up-by-the-target")
    assert "made-up-by-the-target" in judge("name", turn("tell"), turn("ask", elsewhere)).hint
    assert not judge("name", turn("tell"), turn("ask", TargetReply(text="?", context_id="canary-ctx-1"))).hint


@pytest.mark.parametrize(
    "text",
    [
        "Error: the model is not there",
        "⚠️ Agent error: no API key",
        "An error occurred while processing your request.",
        "openai.AuthenticationError: Error code: 401",
        "Traceback (most recent call last):\n  File",
    ],
)
def test_the_text_of_an_error_is_no_answer(text: str) -> None:
    assert judge("name", saying("tell", text), turn("ask")).verdict is DISPROVEN
    assert judge("file-only", saying("send the file", f"{text} (minutes.txt)")).verdict is DISPROVEN


@pytest.mark.parametrize(
    "text", ["No errors so far!", "Hello. If you sent this in error, tell me.", "Erroll greets you"]
)
def test_an_answer_may_speak_of_errors(text: str) -> None:
    assert judge("name", saying("tell", text), turn("ask")).verdict is PROVEN


def test_name_needs_an_answer_to_the_first_turn_too() -> None:
    assert judge("name", turn("tell", REFUSED), turn("ask")).verdict is DISPROVEN


@pytest.mark.parametrize(
    ("verdict", "answer"),
    [
        (PROVEN, "I received 1 attachment: minutes.txt (text/plain, 90 bytes)."),
        (PROVEN, "It seems that the code word is albatross."),
        (PROVEN, "Thanks for the file. What would you like me to do with it?"),
        (PROVEN, "Should I summarize it?"),
        (PROVEN, "Would you like me to keep it?"),
        (PROVEN, "I have received your document. How would you like me to proceed?"),
        (PROVEN, "Is there something that you want me to do with the attached text file?"),
        (PROVEN, "You have sent a text file and no words. What would you like me to do?"),
        (DISPROVEN, "Hello! How are you?"),
        (DISPROVEN, "Hello! How can I help you today?"),
        (DISPROVEN, "Your message is blank. Would you like to upload a file?"),
        (DISPROVEN, "How can I help with your question, document or code?"),
        (DISPROVEN, "Is there anything that you would like to talk about?"),
        (DISPROVEN, "It looks like your message is blank. What can I help you with? You can also upload a file."),
        (DISPROVEN, "Error: message has no text content. What would you like me to do?"),
        (DISPROVEN, "I received an empty prompt."),
        (DISPROVEN, ""),
    ],
)
def test_file_only(verdict: Verdict, answer: str) -> None:
    assert judge("file-only", saying("send the file", answer)).verdict is verdict


def test_file_only_is_disproven_by_a_refusal() -> None:
    finding = judge("file-only", turn("send the file", REFUSED))
    assert finding.verdict is DISPROVEN
    assert "a file without words" in finding.reason


UPLOADED = UploadRecord("upload", "minutes.txt", "workspace:/workspace/uploads/minutes.txt", "", "curl -F")
TAKES_NONE = UploadRecord("upload", "minutes.txt", None, "", "curl -F")
TURNED_DOWN = UploadRecord("upload", "minutes.txt", None, "HTTP 500: oops", "curl -F")
SUMMED_UP = "Summary: minutes.txt has 16 words."


@pytest.mark.parametrize(
    ("verdict", "inline", "uploaded", "reference"),
    [
        (PROVEN, SUMMED_UP, UPLOADED, SUMMED_UP),
        (PROVEN, "They agreed on albatross.", TAKES_NONE, None),
        (PROVEN, "You said “summarize this”: they had a meeting.", TAKES_NONE, None),
        (DISPROVEN, "minutes.txt: summarize this", TAKES_NONE, None),
        (DISPROVEN, "I cannot open minutes.txt, so I can't summarize it.", TAKES_NONE, None),
        (DISPROVEN, "Error: minutes.txt has no handler for summarize", TAKES_NONE, None),
        (DISPROVEN, SUMMED_UP, TURNED_DOWN, None),
        (DISPROVEN, "I have received minutes.txt.", UPLOADED, SUMMED_UP),
        (DISPROVEN, "Here is a summary of what you said.", UPLOADED, SUMMED_UP),
        (DISPROVEN, SUMMED_UP, UPLOADED, "There is no text content in your message about minutes.txt to summarize."),
        (DISPROVEN, SUMMED_UP, UPLOADED, "I cannot open it."),
        (DISPROVEN, "", TAKES_NONE, None),
    ],
)
def test_file_caption(verdict: Verdict, inline: str, uploaded: UploadRecord, reference: str | None) -> None:
    by_reference = [] if reference is None else [saying("the file by reference", reference)]
    finding = judge("file-caption", saying("the file in the message", inline), uploaded, *by_reference)
    assert finding.verdict is verdict


@pytest.mark.parametrize(
    ("verdict", "remember", "recall"),
    [(PROVEN, FORGOT, KNOWS), (DISPROVEN, KNOWS, FORGOT), (DISPROVEN, REFUSED, KNOWS), (DISPROVEN, KNOWS, REFUSED)],
)
def test_memory(verdict: Verdict, remember: TargetReply, recall: TargetReply) -> None:
    assert judge("memory", turn("remember", remember), turn("recall", recall)).verdict is verdict


@pytest.mark.parametrize(
    ("verdict", "reply", "count"),
    [(PROVEN, KNOWS, 1), (DISPROVEN, KNOWS, 0), (DISPROVEN, KNOWS, None), (DISPROVEN, REFUSED, 1)],
)
def test_tool_use(verdict: Verdict, reply: TargetReply, count: int | None) -> None:
    assert judge("tool-use", turn("use it", reply), seen("look", count)).verdict is verdict


ASKED = PeerQuestions("look at the peer", (PeerQuestion("peer-ctx", "What is the password?", "m"),))
NOT_ASKED = PeerQuestions("look at the peer", ())
TOLD = "The agent answered: The password is sassafras."


@pytest.mark.parametrize(
    ("verdict", "answer", "asked", "kept"),
    [
        (PROVEN, TOLD, ASKED, TOLD),
        (PROVEN, TOLD, ASKED, None),
        (DISPROVEN, TOLD, NOT_ASKED, TOLD),
        (DISPROVEN, TOLD, PeerQuestions("look at the peer", (PeerQuestion("c", "Hello?", "m"),)), TOLD),
        (DISPROVEN, "It said something.", ASKED, TOLD),
        (DISPROVEN, TOLD, ASKED, "Done."),
        (DISPROVEN, "", ASKED, TOLD),
    ],
)
def test_peer(verdict: Verdict, answer: str, asked: PeerQuestions, kept: str | None) -> None:
    looked = [] if kept is None else [look("look at the task", TargetReply(text=kept, task_id="t"))]
    finding = judge("peer", saying("have it asked", answer), asked, *looked)
    assert finding.verdict is verdict
    assert verdict is DISPROVEN or ("keeps" in finding.reason) == bool(looked)


def test_long_is_disproven_by_a_turn_that_fails_on_the_way() -> None:
    finding = judge("long", turn("turn 1"), turn("turn 2"), turn("turn 3", REFUSED))
    assert finding.verdict is DISPROVEN
    assert finding.curl == "curl turn 3"


@pytest.mark.parametrize(
    ("verdict", "old", "new"),
    [(PROVEN, KNOWS, KNOWS), (DISPROVEN, FORGOT, KNOWS), (DISPROVEN, KNOWS, FORGOT), (DISPROVEN, KNOWS, REFUSED)],
)
def test_both_wires(verdict: Verdict, old: TargetReply, new: TargetReply) -> None:
    told = turn("tell over 0.3"), turn("tell over 1.0")
    assert judge("both-wires", *told, turn("ask over 0.3", old), turn("ask over 1.0", new)).verdict is verdict


def test_a_turn_without_an_answer_is_no_matter_of_what_its_proof_is_about() -> None:
    wrong = checks.answered(turn("tell", REFUSED))
    assert wrong is not None
    assert wrong.remedy == checks.NO_ANSWER
    about_files = checks.answered(turn("send", REFUSED), "a file without words")
    assert about_files is not None
    assert about_files.remedy is None
