"""A mailbox: questions that are answered, each once."""

import random
from collections import Counter
from collections.abc import Sequence
from email import message_from_bytes
from email.message import EmailMessage
from pathlib import Path

from holdfast.prove.live.claims import require
from holdfast.prove.service.program import SUMS, ProgramCase, ProgramSpec, documents, same_names

QUESTIONS = (
    "When do you open on Saturdays?",
    "Can I move my flight to next week?",
    "What does a tandem flight cost for two people?",
    "I lost my jacket at the landing place. Did you find it?",
)
MESSAGE_ID = "message_id"
ANSWERED = "answered"


def draw(chance: random.Random, number: int) -> ProgramCase:
    """A mail that asks something."""
    mail = EmailMessage()
    mail["From"] = f"Customer {number} <customer{number}@example.org>"
    mail["To"] = "office@example.org"
    mail["Subject"] = f"Question {number}"
    mail["Message-ID"] = f"<proof-{number:04}@example.org>"
    mail["Date"] = "Mon, 01 Mar 2027 10:00:00 +0000"
    mail.set_content(f"Hello,\n\n{chance.choice(QUESTIONS)}\n\nThanks, customer {number}\n")
    name = f"mail-{number:04}"
    return ProgramCase(name, f"mailbox/{name}.eml", bytes(mail), {MESSAGE_ID: str(mail["Message-ID"])})


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
    same_names(answers, [str(case.expected[MESSAGE_ID]) for case in cases], "answers")
    outcomes = Counter(str(each.get("outcome")) for each in handled.values())
    require(
        outcomes[ANSWERED] == len(mails),
        SUMS,
        "what was handled and what was sent differ",
        expected=f"{outcomes[ANSWERED]} answers",
        got=f"{len(mails)} in the outbox",
    )
    return f"{len(cases)} mails, {len(mails)} answers"


EMAIL_SOLVER = ProgramSpec("email_solver", "test-email", draw, check, lambda case: case.name, begun=("graph_built",))
