"""A mailbox as folders: `mailbox/` has what came, `outbox/` what was sent, `handled/` what became of each mail.

A mail is known by the digest of its bytes, whatever its file is called: the same mail twice is one mail. What is sent
and what is noted has a name made of that digest, and is written whole and once.
"""

import email
import email.policy
import hashlib
import re
import time
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import parseaddr
from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.durable_files import alone_in, make_folder, write_whole

DIGITS = 16
NAME = re.compile(r"[0-9a-f]{16}")
MOST_TEXT = 20_000
SECONDS_TO_SETTLE = 1.0
"""How old a file must be: one that is still being copied would be another mail when it is whole."""
BULK = {"bulk", "junk", "list"}


class MailRefused(Exception):
    """There is no such mail, or it cannot be answered like this."""


@dataclass(frozen=True, slots=True)
class ReceivedMail:
    """What a mail says, as far as an answer needs it."""

    id: str
    sender: str
    subject: str
    message_id: str
    text: str
    automatic: bool
    """Whether a program sent it; such mail is never answered, or two programs would write to each other for ever."""


@dataclass
class MailFolder:
    """The three folders."""

    folder: Path
    _known: dict[tuple[str, int, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("mailbox", "outbox", "handled"):
            make_folder(self.folder / name)

    def waiting(self) -> list[str]:
        """The ids of the mails that nothing became of yet, in the order of their files' names."""
        handled = {path.stem for path in (self.folder / "handled").iterdir()}
        return [name for name in dict.fromkeys(self._ids()) if name not in handled]

    def read(self, name: str) -> ReceivedMail:
        """A mail, by its id."""
        for path in self._files():
            if self._id(path) == name:
                return _parse(name, path.read_bytes())
        raise MailRefused(f"there is no mail {name[:40]!r}")

    def send(self, name: str, to: str, subject: str, text: str, in_reply_to: str) -> str:
        """Put the answer to a mail into the outbox; the file's name. There is one for each mail, the first."""
        path = self.folder / "outbox" / f"re-{_checked(name)}.eml"
        if not parseaddr(to)[1]:
            raise MailRefused(f"{to[:80]!r} is no address")
        answer = EmailMessage(policy=email.policy.SMTP)
        answer["Message-ID"] = f"<re-{name}@email-solver.invalid>"
        answer["To"] = _one_line(to)
        answer["From"] = "email-solver@tandem-flights.example"
        answer["Subject"] = _one_line(subject)
        answer["Auto-Submitted"] = "auto-replied"
        if in_reply_to:
            answer["In-Reply-To"] = answer["References"] = _one_line(in_reply_to)
        answer.set_content(text)
        with alone_in(path.parent):
            if not path.exists():
                write_whole(path, answer.as_bytes())
        return path.name

    def note(self, name: str, outcome: str, about: dict[str, Any]) -> None:
        """Note what became of a mail; the first note stays."""
        path = self.folder / "handled" / f"{_checked(name)}.json"
        with alone_in(path.parent):
            if not path.exists():
                write_whole(path, strict_json.dump({"id": name, "outcome": outcome, **about}) + b"\n")

    def noted(self, name: str) -> dict[str, Any] | None:
        """What became of a mail, if anything did."""
        path = self.folder / "handled" / f"{_checked(name)}.json"
        return strict_json.parse(path.read_bytes()) if path.exists() else None

    def counts(self) -> dict[str, int]:
        """How much there is of everything."""
        done, sent = (sum(1 for _ in (self.folder / name).glob(ending)) for name, ending in _KEPT)
        return {"waiting": len(self.waiting()), "done": done, "sent": sent}

    def _files(self) -> list[Path]:
        found = (self.folder / "mailbox").glob("*.eml")
        return sorted(path for path in found if path.is_file() and not path.name.startswith("."))

    def _ids(self) -> list[str]:
        before = time.time() - SECONDS_TO_SETTLE
        return [self._id(path) for path in self._files() if path.stat().st_mtime < before]

    def _id(self, path: Path) -> str:
        about = path.stat()
        mark = (path.name, about.st_size, about.st_mtime_ns)
        if mark not in self._known:
            self._known[mark] = hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
        return self._known[mark]


_KEPT = (("handled", "*.json"), ("outbox", "*.eml"))


def _parse(name: str, raw: bytes) -> ReceivedMail:
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    sender = parseaddr(str(mail.get("Reply-To") or mail.get("From") or ""))[1]
    return ReceivedMail(
        id=name,
        sender=sender,
        subject=_one_line(str(mail.get("Subject") or "")),
        message_id=_one_line(str(mail.get("Message-ID") or "")),
        text=_text(mail)[:MOST_TEXT],
        automatic=_is_automatic(mail, sender),
    )


def _text(mail: EmailMessage) -> str:
    part = mail.get_body(("plain", "html"))
    if part is None:
        return ""
    try:
        words = str(part.get_content())
    except (LookupError, ValueError):  # a character set that nobody knows
        words = bytes(part.get_payload(decode=True) or b"").decode("utf-8", "replace")
    return re.sub(r"<[^>]+>", " ", words) if part.get_content_subtype() == "html" else words


def _is_automatic(mail: EmailMessage, sender: str) -> bool:
    told = str(mail.get("Auto-Submitted") or "no").partition(";")[0].strip().lower()
    user = sender.partition("@")[0].lower()
    return (
        told != "no"
        or str(mail.get("Precedence") or "").strip().lower() in BULK
        or mail.get("List-Id") is not None
        or user in {"", "mailer-daemon", "postmaster", "noreply", "no-reply"}
    )


def _checked(name: str) -> str:
    if not NAME.fullmatch(name):
        raise MailRefused(f"{name[:40]!r} is no id of a mail")
    return name


def _one_line(words: str) -> str:
    return " ".join(words.split())[:500]
