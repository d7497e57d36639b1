"""A mail is one mail under any name, is answered once, and never by one program to another."""

import email
import email.policy
import os
from pathlib import Path

import pytest
from apps.email_solver.mailbox import MailFolder, MailRefused

PLAIN = b"From: Ada <ada@example.org>\nSubject: Hi\nMessage-ID: <1@example.org>\n\nA flight, please.\n"


def put(folder: Path, name: str, raw: bytes = PLAIN) -> MailFolder:
    mails = MailFolder(folder)
    path = folder / "mailbox" / f"{name}.eml"
    path.write_bytes(raw)
    os.utime(path, (1, 1))
    return mails


def test_the_same_mail_under_two_names_is_one_and_waits_until_it_is_noted(tmp_path: Path) -> None:
    put(tmp_path, "1")
    mails = put(tmp_path, "2")
    (name,) = mails.waiting()
    mail = mails.read(name)
    assert (mail.sender, mail.subject, mail.automatic) == ("ada@example.org", "Hi", False)
    mails.note(name, "answered", {})
    mails.note(name, "spam", {})
    assert (mails.waiting(), (mails.noted(name) or {})["outcome"]) == ([], "answered")


def test_a_file_that_was_just_written_waits_until_it_is_whole(tmp_path: Path) -> None:
    mails = put(tmp_path, "1")
    os.utime(tmp_path / "mailbox" / "1.eml")
    assert mails.waiting() == []


def test_an_answer_is_sent_once_and_the_first_stays(tmp_path: Path) -> None:
    mails = put(tmp_path, "1")
    (name,) = mails.waiting()
    files = {mails.send(name, "ada@example.org", "Re: Hi", text, "<1@example.org>") for text in ("one", "two")}
    (sent,) = (tmp_path / "outbox").iterdir()
    assert files == {sent.name}
    found = email.message_from_bytes(sent.read_bytes(), policy=email.policy.default)
    assert (found["In-Reply-To"], found.get_content().strip()) == ("<1@example.org>", "one")


@pytest.mark.parametrize("text", ["Hi\nBcc: eve@example.org", "Hi\r\n\r\nbody"])
def test_a_subject_makes_no_header_of_its_own(tmp_path: Path, text: str) -> None:
    mails = put(tmp_path, "1")
    mails.send(mails.waiting()[0], "ada@example.org", text, "words", "")
    (sent,) = (tmp_path / "outbox").iterdir()
    found = email.message_from_bytes(sent.read_bytes(), policy=email.policy.default)
    assert found["Bcc"] is None and found.get_content().strip() == "words"


@pytest.mark.parametrize(
    "header",
    ["Auto-Submitted: auto-replied", "Precedence: bulk", "List-Id: <x.example.org>", "Reply-To: noreply@x.org"],
)
def test_mail_of_programs_is_known(tmp_path: Path, header: str) -> None:
    mails = put(tmp_path, "1", header.encode() + b"\n" + PLAIN)
    assert mails.read(mails.waiting()[0]).automatic


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"Content-Type: text/plain; charset=none\n\n\xff", PLAIN + b"\0"])
def test_whatever_lies_there_is_read(tmp_path: Path, raw: bytes) -> None:
    mails = put(tmp_path, "1", raw)
    assert mails.read(mails.waiting()[0]).id == mails.waiting()[0]


@pytest.mark.parametrize("name", ["../x", "", "0" * 15, "g" * 16])
def test_an_id_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    mails = MailFolder(tmp_path)
    with pytest.raises(MailRefused):
        mails.send(name, "ada@example.org", "", "", "")
    with pytest.raises(MailRefused):
        mails.read(name)
