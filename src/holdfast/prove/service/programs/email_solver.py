"""A mailbox: questions that are answered, each once, and among them mails that nobody answers."""

import random
from collections import Counter
from collections.abc import Sequence
from email import message_from_bytes
from email.message import EmailMessage
from pathlib import Path

from holdfast.prove.live.claims import require
from holdfast.prove.service.program import SUMS, ProgramCase, ProgramSpec, count, documents, same_names

QUESTIONS = (
    "When do you open on Saturdays?",
    "Can I move my flight to next week?",
    "What does a tandem flight cost for two people?",
    "I lost my jacket at the landing place. Did you find it?",
)
SPAM = "You have won the lottery! Invest your prize in our casino today."
MESSAGE_ID = "message_id"
ANSWERED = "answered"


def draw(chance: random.Random, number: int) -> ProgramCase:
    """A mail that asks something; each fourth one is spam."""
    asks = number % 4 != 3
    mail = EmailMessage()
    mail["From"] = f"Customer {number} <customer{number}@example.org>"
    mail["To"] = "office@example.org"
    mail["Subject"] = f"Question {number}"
    mail["Message-ID"] = f"<proof-{number:04}@example.org>"
    mail["Date"] = "Mon, 01 Mar 2027 10:00:00 +0000"
    mail.set_content(f"Hello,\n\n{chance.choice(QUESTIONS) if asks else SPAM}\n\nYours, customer {number}\n")
    name = f"mail-{number:04}"
    known = {MESSAGE_ID: str(mail["Message-ID"])}
    return ProgramCase(name, f"mailbox/{name}.eml", bytes(mail), known, effect=asks, answered=asks)


def check(data: Path, cases: Sequence[ProgramCase]) -> str:
    """Each mail is handled once, and each that was answered has one answer."""
    handled = documents(data / "handled")
    require(
        len(handled) == len(cases),
        SUMS,
        "not every mail was handled once",
        expected=f"{len(cases)} mails",
        got=f"{len(handled)}",
    )
    mails = [message_from_bytes(path.read_bytes()) for path in sorted((data / "outbox").glob("*.eml"))]
    answers = [str(mail["In-Reply-To"]) for mail in mails]
    same_names(answers, [str(case.expected[MESSAGE_ID]) for case in cases if case.answered], "answers")
    outcomes = Counter(str(each.get("outcome")) for each in handled.values())
    require(
        outcomes[ANSWERED] == len(mails),
        SUMS,
        "what was handled and what was sent differ",
        expected=f"{outcomes[ANSWERED]} answers",
        got=f"{len(mails)} in the outbox",
    )
    return f"{len(cases)} mails, {len(mails)} answers"


EMAIL_SOLVER = ProgramSpec(
    "email_solver", "test-email", draw, check, lambda data: count(data, "handled/*.json"), begun=("graph_built",)
)
