"""What a program leaves is compared with what it was given: what is lost, doubled or torn is named."""

import json
import random
from email import message_from_bytes
from email.message import EmailMessage
from pathlib import Path

import pytest

from holdfast.prove.live.claims import ClaimBroken
from holdfast.prove.service.program import ProgramCase, ProgramSpec
from holdfast.prove.service.programs import PROGRAMS
from holdfast.prove.service.programs.claude_cli import CLAUDE_CLI
from holdfast.prove.service.programs.customer_comm import BOOKING, CUSTOMER_COMM
from holdfast.prove.service.programs.email_solver import EMAIL_SOLVER


def drawn(program: ProgramSpec, count: int = 8) -> list[ProgramCase]:
    chance = random.Random(1)
    return [program.draw(chance, number) for number in range(count)]


def put(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def customers(data: Path) -> list[ProgramCase]:
    """What an honest program leaves of messages."""
    cases = drawn(CUSTOMER_COMM)
    for case in cases:
        put(data / "done" / f"{case.name}.json", "{}")
        put(data / "answers" / f"{case.name}.json", {"answer": "yes"})
        if BOOKING in case.expected:
            date, time, _, people = str(case.expected[BOOKING]).split()
            booking = {"key": case.name, "date": date, "time": time, "passengers": int(people)}
            put(data / "bookings" / f"TF-{case.name}.json", booking)
    return cases


def mails(data: Path) -> list[ProgramCase]:
    """What an honest program leaves of mails."""
    cases = drawn(EMAIL_SOLVER)
    for case in cases:
        put(data / "handled" / f"{case.name}.json", {"outcome": "answered" if case.answered else "spam"})
        if case.answered:
            answer = EmailMessage()
            answer["In-Reply-To"] = message_from_bytes(case.content)["Message-ID"]
            put(data / "outbox" / f"re-{case.name}.eml", answer.as_string())
    return cases


def tasks(data: Path) -> list[ProgramCase]:
    """What an honest program leaves of tasks."""
    cases = drawn(CLAUDE_CLI)
    for case in cases:
        put(data / "done" / f"{case.name}.md", "done")
        put(data / "answers" / f"{case.name}.json", {"session": f"session-{case.name}"})
        put(data / "workspace" / str(case.expected["file"]), f"{case.expected['line']}\n")
    return cases


HONEST = {CUSTOMER_COMM.name: customers, EMAIL_SOLVER.name: mails, CLAUDE_CLI.name: tasks}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_what_an_honest_program_leaves_is_right_and_all_of_it_counts(program: ProgramSpec, tmp_path: Path) -> None:
    cases = HONEST[program.name](tmp_path)
    assert program.check(tmp_path, cases).startswith(f"{len(cases)} ")
    assert program.ended(tmp_path) == len(cases)
    assert len({case.path for case in cases}) == len(cases)


@pytest.mark.parametrize(
    ("program", "pattern", "trouble"),
    [
        (CUSTOMER_COMM, "answers/m0001.json", "answers lost: m0001"),
        (CUSTOMER_COMM, "bookings/TF-m0000.json", "bookings lost: 2027-01-01"),
        (CUSTOMER_COMM, "done/m0003.json", "messages lost: m0003"),
        (EMAIL_SOLVER, "outbox/re-mail-0000.eml", "answers lost: <proof-0000"),
        (EMAIL_SOLVER, "handled/mail-0002.json", "not every mail was handled once"),
        (CLAUDE_CLI, "workspace/note-0001.txt", "not once in note-0001.txt"),
        (CLAUDE_CLI, "answers/t0002.json", "answers lost: t0002"),
    ],
)
def test_what_is_lost_is_named(program: ProgramSpec, pattern: str, trouble: str, tmp_path: Path) -> None:
    cases = HONEST[program.name](tmp_path)
    (tmp_path / pattern).unlink()
    with pytest.raises(ClaimBroken, match=trouble):
        program.check(tmp_path, cases)


@pytest.mark.parametrize(
    ("program", "source", "copy", "trouble"),
    [
        (CUSTOMER_COMM, "bookings/TF-m0000.json", "bookings/TF-again.json", "bookings doubled"),
        (CUSTOMER_COMM, "answers/m0000.json", "answers/strange.json", "answers not asked for: strange"),
        (EMAIL_SOLVER, "outbox/re-mail-0000.eml", "outbox/re-again.eml", "answers doubled: <proof-0000"),
    ],
)
def test_what_is_doubled_is_named(program: ProgramSpec, source: str, copy: str, trouble: str, tmp_path: Path) -> None:
    cases = HONEST[program.name](tmp_path)
    (tmp_path / copy).write_bytes((tmp_path / source).read_bytes())
    with pytest.raises(ClaimBroken, match=trouble):
        program.check(tmp_path, cases)


def test_a_line_that_was_written_twice_and_half_a_document_are_named(tmp_path: Path) -> None:
    cases = tasks(tmp_path / "twice")
    file = tmp_path / "twice" / "workspace" / str(cases[0].expected["file"])
    file.write_text(file.read_text() * 2)
    with pytest.raises(ClaimBroken, match="not once"):
        CLAUDE_CLI.check(tmp_path / "twice", cases)
    cases = customers(tmp_path / "half")
    put(tmp_path / "half" / "answers" / "m0000.json", '{"answer"')
    with pytest.raises(ClaimBroken, match=r"m0000\.json is no JSON object"):
        CUSTOMER_COMM.check(tmp_path / "half", cases)
