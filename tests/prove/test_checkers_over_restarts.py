"""Each checker of a proof that goes on after a stop and a kill: the good history is proven, and every single answer in
it that is spoiled disproves it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.prove.histories import (
    BACK,
    CANCELED,
    DISPROVEN,
    DOWN,
    FAILED,
    FORGOT,
    INCONCLUSIVE,
    KILL,
    KNOWS,
    OPEN,
    PROOFS,
    PROVEN,
    REFUSED,
    RUNNING,
    STOP,
    judge,
    look,
    saying,
    seen,
    turn,
)

from holdfast.prove.runtime.facts import CLASSIC
from holdfast.prove.runtime.history import Entry, PeerQuestions, Power
from holdfast.prove.runtime.peer import PeerQuestion
from holdfast.prove.runtime.proofs.faults import effect
from holdfast.prove.runtime.proofs.isolation import ALIKE
from holdfast.prove.runtime.stage import LONG_TURNS
from holdfast.prove.verdict import Verdict
from holdfast.prove.wire.replies import TargetReply

NAMES = dict(zip(("one", "other", *ALIKE), ("Hongming", "Marisol", *CLASSIC.cities, "Mango"), strict=True))
LATER = {**NAMES, "one": "Blue", "other": "Albatross"}
ISOLATED: list[Entry] = [
    *(saying(f"tell {who}", "Hello.") for who in NAMES),
    *(saying(f"ask {who}", f"You are {name}.") for who, name in NAMES.items()),
    saying("ask nobody", "I do not know."),
    *(STOP, BACK),
    *(saying(f"ask after the stop: {who}", f"You are {name}.") for who, name in NAMES.items()),
    *(saying(f"tell {who} anew", "Hello.") for who in ("one", "other")),
    *(KILL, BACK),
    *(saying(f"ask after the kill: {who}", f"You are {name}.") for who, name in LATER.items()),
]

PARALLEL: list[Entry] = [
    *(turn("tell name"), turn("tell word"), saying("ask name", "Hongming"), saying("ask word", "albatross")),
    *(STOP, BACK, saying("ask name after the stop", "Hongming"), saying("ask word after the stop", "albatross")),
    *(turn("tell name anew"), turn("tell word anew")),
    *(KILL, BACK, saying("ask name after the kill", "Marisol"), saying("ask word after the kill", "mango")),
]


def delivered(step: str, count: int | None = 1) -> list[Entry]:
    return [turn(step), seen(f"look after {step}", count)]


ONCE: list[Entry] = [
    *delivered("first delivery"),
    *delivered("second delivery"),
    *delivered("delivery in another context"),
    *(STOP, BACK),
    *delivered("third delivery"),
    *delivered("delivery after the stop"),
    *(KILL, BACK),
    *delivered("again after the kill"),
    *delivered("fourth delivery"),
]

FILES: list[Entry] = [
    *(turn("send the file"), turn("something else"), saying("ask", "albatross")),
    *(STOP, BACK, saying("ask again", "The code word is albatross."), turn("send another")),
    *(KILL, BACK, saying("ask at last", "albatross"), saying("ask for the other", "mango")),
]

TOLD = {
    "favorite dish": "smörgåsbord",
    "favorite river": "Волга",
    "favorite flower": "向日葵",
    "lucky word": "albatross",
    "name": "Hongming",
    "favorite juice": "mango",
}


def asked(step: str, city: str) -> list[Entry]:
    return [saying(f"{step}: {thing}", f"It is {value}.") for thing, value in {**TOLD, "favorite harbor": city}.items()]


WORDED: list[Entry] = [
    *(turn(f"tell {what}") for what in ("in other scripts", "after much noise", "on several lines", "city 1")),
    *asked("ask", "Osaka"),
    *(STOP, BACK, *asked("ask after the stop", "Osaka"), turn("tell city 4")),
    *(KILL, BACK, *asked("ask after the kill", "Lisbon")),
]

LONG: list[Entry] = [
    *(turn(f"turn {number}") for number in range(1, LONG_TURNS + 1)),
    turn("ask"),
    saying(f"ask for turn {LONG_TURNS // 4}", "mango"),
    saying(f"ask for turn {LONG_TURNS // 2}", "blue"),
    saying(f"ask for turn {LONG_TURNS * 3 // 4}", "albatross"),
]


def kept(when: str, *which: str) -> list[Entry]:
    ended = [look(f"look at {one} ended{when}", KNOWS) for one in which]
    return [*ended, *(look(f"look at {one} canceled{when}", CANCELED) for one in which)]


ENDED: list[Entry] = [
    *(turn("the first that ends"), *kept("", "the first")),
    *(STOP, BACK, *kept(" after the stop", "the first"), *kept("", "the second")),
    *(KILL, BACK, *kept(" after the kill", "the first", "the second")),
]

HELD = replace(turn("accept the question", RUNNING), said="Ask the agent: wait, then say n0nce. Then report.")
BEFORE, ANEW = (PeerQuestion("c", "wait, then say n0nce.", message) for message in ("m1", "m2"))
ELSE = PeerQuestion("c", "what is the password?", "m0")
CUT: list[Entry] = [
    *(turn("accept", RUNNING), seen("look", 1), look("see it running", RUNNING)),
    *(HELD, PeerQuestions("look at the peer", (ELSE,)), PeerQuestions("look at the peer", (ELSE, BEFORE))),
    *(KILL, BACK, look("see it end", FAILED), turn("next turn"), seen("look again", 1)),
    *(look("see the asking end", FAILED), PeerQuestions("look at the peer again", (ELSE, BEFORE, BEFORE))),
]

ASKED = PeerQuestions("look at the peer", (PeerQuestion("c", "what is the password?", "m"),))
REPORTED: list[Entry] = [
    *(saying("have it asked", "sassafras"), ASKED),
    *(KILL, BACK, saying("ask", "sassafras"), replace(ASKED, step="look at the peer again")),
]

PAUSE = Power("pause", "pause", 5.0)
PAUSED: list[Entry] = [
    *(turn("turn before"), turn("long turn", RUNNING), look("see it running", RUNNING), seen("look before", None)),
    *(PAUSE, look("see it end", KNOWS), turn("longer than that"), turn("next turn"), look("see it ended", KNOWS)),
    seen("look", 1),
]

UPGRADED: list[Entry] = [
    *(turn("tell"), STOP, BACK, turn("ask"), turn("tell more"), saying("ask more", "albatross")),
]


def approved(which: str, when: str) -> list[Entry]:
    return [
        *(look(f"{which} waits {when}", OPEN), turn(f"approve {which}"), seen(f"{which} approved", 1)),
        *(turn(f"approve {which} again"), turn(f"approve {which} anew", REFUSED), seen(f"{which} approved again", 1)),
    ]


APPROVED: list[Entry] = [
    *(turn("first request", OPEN), seen("first unapproved", None)),
    *(STOP, BACK, *approved("first", "after the stop"), turn("second request", OPEN), seen("second unapproved", 0)),
    *(KILL, BACK, *approved("second", "after the kill"), seen("first approved once more after the kill", 1)),
]

GOOD: dict[str, list[Entry]] = {
    "isolation": ISOLATED,
    "parallel": PARALLEL,
    "duplicate": ONCE,
    "file-later": FILES,
    "wording": WORDED,
    "long": LONG,
    "task-later": ENDED,
    "effect": CUT,
    "children": REPORTED,
    "pause": PAUSED,
    "upgrade": UPGRADED,
    "approval": APPROVED,
}


def spoiled(entries: Sequence[Entry], spoil: Entry) -> list[Entry]:
    """The entries with another one in the place of the last of its step."""
    place = max(number for number, entry in enumerate(entries) if entry.step == spoil.step)
    return [*entries[:place], spoil, *entries[place + 1 :]]


def without_a_start(entries: Sequence[Entry], number: int) -> list[Entry]:
    """The entries up to one of the starts, which failed."""
    places = [place for place, entry in enumerate(entries) if entry == BACK]
    return [*entries[: places[number]], DOWN]


@pytest.mark.parametrize("proof", GOOD)
def test_a_good_history_is_proven(proof: str) -> None:
    assert judge(proof, *GOOD[proof]).verdict is PROVEN


def test_an_effect_whose_turn_may_have_ended_by_itself_shows_nothing() -> None:
    late = [replace(entry, at=100.0) if entry is KILL else entry for entry in spoiled(CUT, look("see it end", KNOWS))]
    assert judge("effect", *late).verdict is INCONCLUSIVE
    # The turn was seen running late, and its seconds had begun with the line.
    begun = {KILL.step: 100.0, "see it running": 99.9, "look": 100.0 - (effect.SECONDS - 1)}
    close = [replace(entry, at=begun[entry.step]) if entry.step in begun else entry for entry in late]  # type: ignore[arg-type]
    assert judge("effect", *close).verdict is INCONCLUSIVE
    assert judge("effect", *spoiled(CUT, look("see it end", KNOWS))).verdict is PROVEN


@pytest.mark.parametrize("proof", [name for name in GOOD if PROOFS[name].live])
def test_a_target_that_cannot_be_restarted_is_judged_by_what_it_did(proof: str) -> None:
    live = GOOD[proof][: GOOD[proof].index(STOP)]
    finding = judge(proof, *live)
    assert finding.verdict is PROVEN
    assert "could not be restarted" in finding.reason


@pytest.mark.parametrize(
    ("proof", "number"), [(proof, number) for proof in GOOD for number in range(GOOD[proof].count(BACK))]
)
def test_a_target_that_does_not_come_back_disproves_it(proof: str, number: int) -> None:
    assert judge(proof, *without_a_start(GOOD[proof], number)).verdict is DISPROVEN


@pytest.mark.parametrize(
    ("proof", "spoil"),
    [
        *(("isolation", saying(f"ask {who}", "Are you Hongming or Marisol?")) for who in NAMES),
        ("isolation", saying("ask one", "")),
        ("isolation", saying("tell other", "Hello, Hongming.")),
        ("isolation", turn("tell one", REFUSED)),
        ("isolation", turn("tell other", REFUSED)),
        *(("isolation", saying(f"ask after the stop: {who}", "Osaka or Nairobi?")) for who in NAMES),
        ("isolation", saying("ask after the kill: one", "Albatross")),
        ("isolation", saying("ask nobody", "Hongming")),
        ("isolation", saying("ask after the kill: other", "Blue")),
        ("isolation", turn("ask after the kill: other", REFUSED)),
        *(("parallel", turn(f"tell {what}", REFUSED)) for what in ("name", "word", "name anew", "word anew")),
        *(("parallel", saying(entry.step, "?")) for entry in PARALLEL if entry.step.startswith("ask")),
        *(("duplicate", seen(entry.step, 2)) for entry in ONCE if entry.step.startswith("look")),
        ("duplicate", turn("first delivery", REFUSED)),
        ("duplicate", turn("delivery after the stop", REFUSED)),
        ("duplicate", seen("look after delivery in another context", 0)),
        *(("file-later", saying(entry.step, "?")) for entry in FILES if entry.step.startswith("ask")),
        *(("file-later", turn(entry.step, REFUSED)) for entry in FILES if entry.step.startswith("send")),
        *(("wording", saying(entry.step, "?")) for entry in WORDED if entry.step.startswith("ask")),
        *(("wording", turn(entry.step, REFUSED)) for entry in WORDED if entry.step.startswith("tell")),
        ("wording", saying("ask after the kill: favorite harbor", "Osaka")),
        *(("long", saying(entry.step, "?")) for entry in LONG if entry.step.startswith("ask")),
        ("long", turn("ask", REFUSED)),
        ("task-later", look("look at the first ended after the stop", REFUSED)),
        ("task-later", look("look at the first ended after the stop", FORGOT)),
        ("task-later", look("look at the first canceled after the stop", RUNNING)),
        ("task-later", look("look at the second canceled after the kill", KNOWS)),
        ("task-later", look("look at the first ended after the kill", FAILED)),
        ("task-later", turn("the first that ends", REFUSED)),
        ("effect", seen("look again", 2)),
        ("effect", seen("look again", 0)),
        ("effect", look("see it end", RUNNING)),
        ("effect", look("see the asking end", RUNNING)),
        ("effect", PeerQuestions("look at the peer again", (ELSE, BEFORE, ANEW))),
        ("children", saying("ask", "I do not know.")),
        ("children", turn("have it asked", REFUSED)),
        ("children", PeerQuestions("look at the peer again", (*ASKED.questions, *ASKED.questions))),
        ("pause", look("see it end", RUNNING)),
        ("pause", look("see it ended", FAILED)),
        ("pause", turn("next turn", FORGOT)),
        ("pause", seen("look", 2)),
        ("upgrade", turn("ask", FORGOT)),
        ("upgrade", saying("ask more", "?")),
        ("upgrade", turn("tell more", REFUSED)),
        ("approval", seen("first unapproved", 1)),
        ("approval", seen("second unapproved", 1)),
        ("approval", turn("second request", KNOWS)),
        ("approval", look("first waits after the stop", FAILED)),
        ("approval", look("second waits after the kill", REFUSED)),
        ("approval", seen("first approved", 0)),
        ("approval", seen("second approved again", 2)),
        ("approval", seen("first approved once more after the kill", 2)),
    ],
)
def test_one_bad_answer_disproves_it(proof: str, spoil: Entry) -> None:
    assert judge(proof, *spoiled(GOOD[proof], spoil)).verdict is DISPROVEN


@pytest.mark.parametrize(
    ("proof", "spoil", "verdict"),
    [
        ("isolation", turn("tell small letter", REFUSED), PROVEN),
        ("isolation", saying("ask one", "I do not know."), PROVEN),
        ("duplicate", seen("look after first delivery", None), INCONCLUSIVE),
        ("duplicate", turn("second delivery", REFUSED), PROVEN),
        ("task-later", turn("the first that ends", TargetReply(text="albatross")), INCONCLUSIVE),
        ("effect", seen("look", 0), INCONCLUSIVE),
        ("effect", look("see it running", KNOWS), INCONCLUSIVE),
        ("effect", PeerQuestions("look at the peer", (ELSE,)), PROVEN),
        ("children", turn("have it asked", FORGOT), INCONCLUSIVE),
        ("pause", look("see it running", KNOWS), INCONCLUSIVE),
        ("pause", seen("look", 0), INCONCLUSIVE),
        ("approval", turn("first request", KNOWS), INCONCLUSIVE),
    ],
)
def test_what_the_target_may_do_or_what_shows_nothing(proof: str, spoil: Entry, verdict: Verdict) -> None:
    assert judge(proof, *spoiled(GOOD[proof], spoil)).verdict is verdict
