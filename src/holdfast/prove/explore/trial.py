"""One trial: a history performed on a fresh target, and what the checker finds in the record of it."""

import secrets
import shutil
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.histories.operations import Ask, AskFile, Operation, Recall
from holdfast.prove.explore.judge.checker import check, wrong_again
from holdfast.prove.explore.judge.claims import Violation
from holdfast.prove.explore.judge.shown import claims_shown, not_offered
from holdfast.prove.explore.performer import PerformanceFault, Performer
from holdfast.prove.explore.record import Fate, Record, RecordedDelivery
from holdfast.prove.explore.sender import Sender
from holdfast.prove.runtime.stage import patience_of
from holdfast.prove.targets import DescribedTarget, Target
from holdfast.prove.wire.client import AccessRefused, Wire
from holdfast.prove.wire.credentials import NO_CREDENTIALS, Credentials
from holdfast.prove.wire.envelopes import WireVersion

Kind = tuple[str, str]
RIGHT_THEN = "right then"


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one performance. `fault` says why nothing can be said; `asked_again` what came of asking again.

    `shown` are the claims that it put to the test, `not_offered` is what was left out, with the reason.
    """

    course: Course
    violations: tuple[Violation, ...] = ()
    fault: str = ""
    asked_again: str = ""
    events: tuple[dict[str, Any], ...] = ()
    logs: tuple[Path, ...] = ()
    record: Record | None = field(default=None, repr=False)
    shown: frozenset[str] = frozenset()
    not_offered: Mapping[str, str] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        """Whether every message was answered, and nothing was wrong."""
        return not self.fault and not self.violations and all(d.fate is Fate.ANSWERED for d in self._deliveries)

    @property
    def last_words(self) -> str:
        """What is wrong with it, or what became of its last message."""
        if self.violations:
            return f"{self.violations[0].reason}: {self.violations[0].got}"
        return next((f"a message was {each.fate}: {each.error or each.text!r}" for each in self._deliveries[::-1]), "")

    @property
    def _deliveries(self) -> list[RecordedDelivery]:
        return [seen for seen in self.record.seen if isinstance(seen, RecordedDelivery)] if self.record else []

    def shows(self, kind: Kind) -> bool:
        """Whether it shows a violation of that kind."""
        return any(violation.kind == kind for violation in self.violations)

    def shows_same(self, known: Violation) -> bool:
        """Whether it shows a violation of that kind, of the same subject."""
        return any((found.kind, found.subject) == (known.kind, known.subject) for found in self.violations)

    def violation(self, kind: Kind) -> Violation:
        """The first violation of that kind."""
        return next(violation for violation in self.violations if violation.kind == kind)


class Lab:
    """Where trials are made: each in a folder of its own, on a target of its own.

    Without a version of the wire it is what the target's card offers; `spoken` is the one that was spoken last, and
    `about` what the target said of itself then.
    """

    def __init__(
        self,
        make_target: Callable[[Path], Target],
        folder: Path,
        *,
        wire: WireVersion | None,
        timeout: float,
        credentials: Credentials = NO_CREDENTIALS,
    ) -> None:
        self.spoken = wire.value if wire else ""
        self.about: Mapping[str, str] = {}
        self._make_target = make_target
        self._folder = folder
        self._wire = wire
        self._credentials = credentials
        self._patience = patience_of(timeout)
        self._count = 0

    async def attempt(self, course: Course, *, keep: str = "") -> Trial:
        """Perform a history on a fresh target; its data and logs are kept under a name only if one is given."""
        self._count += 1
        folder = self._folder.parent / keep if keep else self._folder / f"trial-{self._count}"
        folder.mkdir(parents=True)
        target = self._make_target(folder)
        tag = secrets.token_hex(3)
        try:
            async with Wire(target.url, self._wire, self._credentials) as wire:
                sender = Sender(wire, timeout=self._patience.answer, recovery=self._patience.recovery, new_hex=_new_hex)
                performer = Performer(course, target, sender, tag=tag, new_hex=_new_hex)
                trial = await self._judge(performer, course, target)
                self.spoken = wire.version.value
                self.about = target.about if isinstance(target, DescribedTarget) else {}
                return trial
        finally:
            target.abandon()
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)

    async def _judge(self, performer: Performer, course: Course, target: Target) -> Trial:
        fault = asked = ""
        violations: list[Violation] = []
        try:
            await performer.perform()
            violations = check(performer.record)
            asked = await _ask_again(performer, course, violations)
        except PerformanceFault as error:
            fault = str(error)
        except AccessRefused as error:
            fault = f"{error.message} ({error.hint})"
        except Exception as error:
            # Our own mistake must not take the other trials with it, and must not be missed.
            fault = f"unexpected {type(error).__name__}: {error}"
            performer.events.append({"step": "", "event": "error", "traceback": traceback.format_exc()})
        return Trial(
            course,
            tuple(violations),
            fault,
            asked,
            tuple(performer.events),
            tuple(target.logs()),
            performer.record,
            frozenset() if fault else claims_shown(performer.record),
            {} if fault else not_offered(performer.record),
        )


async def _ask_again(performer: Performer, course: Course, violations: list[Violation]) -> str:
    """Put the question once more that was answered wrongly; what came of it, empty if it was no question."""
    wrong = next((found for found in violations if _is_question(course.operations[found.step])), None)
    if wrong is None or any(found.claim == "returns" for found in violations):
        return ""
    fresh = 1 + max(getattr(each, "message", 0) for each in course.operations)
    await performer.add((msgspec.structs.replace(course.operations[wrong.step], message=fresh, joins=False),))
    return "wrong again" if wrong_again(performer.record, wrong.step, len(course.operations)) else RIGHT_THEN


def _is_question(operation: Operation) -> bool:
    return isinstance(operation, Ask | AskFile | Recall)


def _new_hex() -> str:
    return secrets.token_hex(6)
