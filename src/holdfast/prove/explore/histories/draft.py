"""A history in the making: what has been told so far, so that it can be asked for, changed and repeated."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from holdfast.prove.explore.histories.operations import (
    Ask,
    AskFile,
    How,
    Kill,
    KillStart,
    LookUp,
    Operation,
    Pause,
    Recall,
    Stop,
    Tell,
)
from holdfast.prove.explore.histories.values import Form

FAMILIES = ("continuity", "files", "memory", "tools", "streaming")
FAULT_KINDS = ("stop", "kill", "pause")
FORMS = (Form.WORD, Form.WORD, Form.WORD, Form.WORDS, Form.LONG, Form.SCRIPT, Form.QUOTES, Form.LINES, Form.TWIN)
MOMENTS = (1, 5, 20, 60, 150)
"""Milliseconds into a turn."""
START_MOMENTS = (5, 25, 45, 65, 85, 105)
"""Hundredths of the time that a start takes."""
PAUSES = (150, 600)
"""Milliseconds for which a target stands still, beside the longest pause."""
LONGEST_PAUSE = 5_000
"""Longer than any lease of the bundled runtime."""
OWN_FACTS = range(4, 8)
"""The facts of turns that are cut: nothing else is told of them, so what became of such a turn stays to be seen."""
NEARLY_EQUAL = range(4, 11)
"""The contexts whose ids are nearly equal to that of the first."""
ELSEWHERE = 2
"""Questions at the end for what was told in another context only."""
ASKED_MORE = 2
"""Questions at the end for what was told in a turn that was cut, beside the one for everything."""
AT_ONCE = 4
"""Questions that are put at once at the end."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a history may consist of. Without `twins` no value looks like another: a real model may write it plainly."""

    families: frozenset[str] = frozenset(FAMILIES)
    faults: frozenset[str] = frozenset(FAULT_KINDS)
    scenes: tuple[int, int] = (4, 9)
    twins: bool = True
    longest_pause: int = LONGEST_PAUSE


@dataclass(slots=True)
class Draft:
    """The operations so far, and what they refer to by number."""

    random: Random
    bounds: Bounds
    operations: list[Operation] = field(default_factory=list)
    facts: list[tuple[int, int]] = field(default_factory=list)
    cut: list[tuple[int, int]] = field(default_factory=list)
    files: list[tuple[int, int]] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    _messages: int = 0
    _values: int = 0

    def add(self, *operations: Operation) -> None:
        """Let these be done next."""
        self.operations += operations

    def message(self, *, worth_repeating: bool = False) -> int:
        """The number of a new message."""
        self._messages += 1
        if worth_repeating:
            self.sent.append(self._messages)
        return self._messages

    def value(self) -> int:
        """The number of a new value."""
        self._values += 1
        return self._values

    def context(self) -> int:
        """Mostly one of few; now and then one whose id is nearly that of the first."""
        return self.random.choice((0, 0, 0, 1, 1, 2, self.random.choice((3, *NEARLY_EQUAL))))

    def tell(
        self, *, context: int | None = None, fact: int | None = None, form: Form | None = None, **more: Any
    ) -> Tell:
        """Something new to tell; it is asked for at the end."""
        told = Tell(
            message=self.message(worth_repeating=True),
            context=self.context() if context is None else context,
            fact=self.random.randint(0, 3) if fact is None else fact,
            value=self.value(),
            form=form or self._form(),
            **more,
        )
        self.facts.append((told.context, told.fact))
        return told

    def tell_and_cut(self, **more: Any) -> Tell:
        """Something new to tell in a turn that may come to nothing; it is asked for again and again."""
        told = self.tell(fact=OWN_FACTS[len(self.cut) % len(OWN_FACTS)], **more)
        self.cut.append((told.context, told.fact))
        return told

    def _form(self) -> Form:
        form = self.random.choice(FORMS)
        return Form.WORD if form is Form.TWIN and not self.bounds.twins else form

    def ask(self, context: int, fact: int) -> Ask:
        """A question."""
        return Ask(message=self.message(), context=context, fact=fact)

    def how(self) -> How:
        """One of the ways to send a message to its end."""
        ways: list[How] = ["wait", "wait", "at once"]
        return self.random.choice([*ways, "stream"] if "streaming" in self.bounds.families else ways)

    def faults(self, *, joins: bool = False) -> list[Operation]:
        """A fault, or two in a row; one that joins comes in the midst of what is being done."""
        after = self.random.choice(MOMENTS) if joins else 0
        makers: list[Callable[[], list[Operation]]] = []
        if "stop" in self.bounds.faults:
            makers.append(lambda: [Stop(joins=joins, after=after)])
        if "kill" in self.bounds.faults:
            makers += [lambda: [Kill(joins=joins, after=after)]] * 3
            if not joins:
                makers += [lambda: [Kill(), Kill()], lambda: [KillStart(percent=self.random.choice(START_MOMENTS))]]
        if "pause" in self.bounds.faults:
            milliseconds = self.random.choice((*PAUSES, self.bounds.longest_pause))
            makers.append(lambda: [Pause(joins=joins, milliseconds=milliseconds)])
        return self.random.choice(makers)()

    def audit(self) -> None:
        """Ask for all that was told, and for some of it elsewhere, a few questions at once, and look up some tasks.

        What may have come to nothing is asked for twice more: it must be there or not, and stay so.
        """
        questions: list[Operation] = [self.ask(*place) for place in dict.fromkeys(self.facts)]
        elsewhere = [place for place in self._places() if place not in self.facts]
        questions += [self.ask(*place) for place in self.random.sample(elsewhere, min(ELSEWHERE, len(elsewhere)))]
        questions += [AskFile(message=self.message(), context=c, file=f) for c, f in dict.fromkeys(self.files)]
        questions += [
            Recall(message=self.message(), context=self.random.randint(0, 3), fact=fact)
            for fact in dict.fromkeys(self.kept)
        ]
        questions += [LookUp(message=number) for number in self.random.sample(self.sent, min(4, len(self.sent)))]
        self.random.shuffle(questions)
        self._add_few_at_once(questions)
        for _ in range(ASKED_MORE):
            self._add_few_at_once([self.ask(*place) for place in dict.fromkeys(self.cut)])

    def _add_few_at_once(self, questions: list[Operation]) -> None:
        for place, question in enumerate(questions):
            self.add(msgspec.structs.replace(question, joins=place % AT_ONCE != 0))

    def _places(self) -> list[tuple[int, int]]:
        """Every fact that was told anywhere, in every context in which something was told, and in the usual ones."""
        contexts = dict.fromkeys((0, 1, *(context for context, _ in self.facts)))
        return [(context, fact) for fact in dict.fromkeys(fact for _, fact in self.facts) for context in contexts]
