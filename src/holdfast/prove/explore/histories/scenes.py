"""The scenes that a history is put together from: each a few operations that belong together.

A scene adds to a draft what it does, and leaves it to the end of the history to ask for what it told.
"""

from collections.abc import Callable

from holdfast.prove.explore.histories.draft import NEARLY_EQUAL, Bounds, Draft
from holdfast.prove.explore.histories.operations import (
    Again,
    Append,
    Cancel,
    Chat,
    Follow,
    How,
    Idle,
    LookUp,
    Recall,
    Save,
    SendFile,
    TakeBack,
)
from holdfast.prove.explore.histories.values import Form

DEEP = (3, 8, 20, 45)
SLOW = 8
CROWD = range(11, 40)
MULTITUDES = (20, 130)


def tell(draft: Draft) -> None:
    """A fact."""
    draft.add(draft.tell(how=draft.how()))


def change(draft: Draft) -> None:
    """A fact, and another value for it."""
    told = draft.tell()
    draft.add(told, draft.tell(context=told.context, fact=told.fact, form=Form.WORD))
    if draft.random.random() < 0.5:
        draft.add(draft.ask(told.context, told.fact))


def take_back(draft: Draft) -> None:
    """A fact that is taken back."""
    told = draft.tell(form=Form.WORD)
    draft.add(told, TakeBack(message=draft.message(), context=told.context, fact=told.fact))


def ask(draft: Draft) -> None:
    """A question, for something that was told if anything was."""
    draft.add(draft.ask(*(draft.random.choice(draft.facts) if draft.facts else (draft.context(), 0))))


def at_once(draft: Draft) -> None:
    """Several turns at once in one context."""
    context = draft.context()
    draft.add(*(draft.tell(joins=place > 0, context=context) for place in range(draft.random.randint(2, 4))))


def crowd(draft: Draft) -> None:
    """Turns at once in many contexts."""
    first = draft.random.choice(CROWD)
    count = draft.random.randint(4, 10)
    draft.add(*(draft.tell(joins=place > 0, context=first + place, form=Form.WORD) for place in range(count)))


def neighbours(draft: Draft) -> None:
    """One fact in contexts whose ids are nearly equal."""
    contexts = (0, *draft.random.sample(NEARLY_EQUAL, 2))
    draft.add(*(draft.tell(context=context, fact=0, form=Form.WORD) for context in contexts))


def deep(draft: Draft) -> None:
    """A fact, a long conversation, and the question."""
    told = draft.tell()
    turns = draft.random.choice(DEEP)
    draft.add(
        told, Chat(message=draft.message(), context=told.context, turns=turns), draft.ask(told.context, told.fact)
    )


def multitude(draft: Draft) -> None:
    """A fact, and more conversations than anything should forget one for."""
    told = draft.tell()
    turns = draft.random.choice(MULTITUDES)
    draft.add(told, Chat(message=draft.message(), context=told.context, turns=turns, apart=True))


def again(draft: Draft) -> None:
    """A message that was sent before, with the same body or with another."""
    if draft.sent:
        draft.add(Again(message=draft.random.choice(draft.sent), other=draft.random.random() < 0.25))


def twice_at_once(draft: Draft) -> None:
    """A message that is delivered twice at once."""
    told = draft.tell()
    draft.add(told, Again(message=told.message, joins=True))


def in_turn(draft: Draft) -> None:
    """A fault while a turn is running, and now and then the same message again."""
    told = draft.tell_and_cut(slow=SLOW, how=draft.how())
    draft.add(told, *draft.faults(joins=True))
    if draft.random.random() < 0.4:
        draft.add(Again(message=told.message))


def follow_up(draft: Draft) -> None:
    """A message for the task of another, which has ended or is running."""
    running = draft.random.random() < 0.6
    told = draft.tell(slow=SLOW, how="leave") if running else draft.tell()
    draft.add(told, draft.tell(context=told.context, follows=told.message))
    if running:
        draft.add(LookUp(message=told.message))


def left_running(draft: Draft) -> None:
    """A turn that is left to itself, and mostly a fault."""
    told = draft.tell_and_cut(slow=SLOW, how="leave")
    draft.add(told)
    if draft.bounds.faults and draft.random.random() < 0.7:
        draft.add(*draft.faults())


def cancel(draft: Draft) -> None:
    """A long turn that is canceled."""
    told = draft.tell_and_cut(slow=SLOW * 3, how="at once")
    draft.add(told, Cancel(message=told.message, after=draft.random.choice((40, 200)), joins=True))
    draft.add(LookUp(message=told.message))


def look_up(draft: Draft) -> None:
    """The task of a message that was sent before."""
    if draft.sent:
        draft.add(LookUp(message=draft.random.choice(draft.sent)))


def idle(draft: Draft) -> None:
    """Nothing for a while."""
    draft.add(Idle(milliseconds=draft.random.choice((50, 300))))


def cut_stream(draft: Draft) -> None:
    """A stream that is cut, and mostly followed again."""
    told = draft.tell(slow=SLOW, how="cut")
    draft.add(told)
    if draft.random.random() < 0.7:
        draft.add(Follow(message=told.message))
    draft.add(LookUp(message=told.message))


def file(draft: Draft) -> None:
    """A file, with words or without."""
    sent = SendFile(
        message=draft.message(worth_repeating=True),
        context=draft.context(),
        file=len(draft.files) + 1,
        value=draft.value(),
        form=draft.random.choice((Form.WORD, Form.SCRIPT)),
        by="reference" if draft.random.random() < 0.5 else "bytes",
        words=draft.random.random() < 0.5,
    )
    draft.files.append((sent.context, sent.file))
    draft.add(sent)


def save(draft: Draft) -> None:
    """Something for the memory, mostly overwritten, and now and then recalled from another context."""
    fact = draft.random.randint(0, 2)
    draft.kept.append(fact)
    for _ in range(draft.random.choice((1, 2, 2))):
        message = draft.message(worth_repeating=True)
        draft.add(Save(message=message, context=draft.context(), fact=fact, value=draft.value()))
    if draft.random.random() < 0.4:
        draft.add(Recall(message=draft.message(), context=draft.context(), fact=fact))


def append(draft: Draft) -> None:
    """An effect, and now and then its message again."""
    message = draft.message(worth_repeating=True)
    draft.add(Append(message=message, context=draft.context()))
    if draft.random.random() < 0.5:
        joins, other = draft.random.random() < 0.4, draft.random.random() < 0.2
        draft.add(Again(message=message, joins=joins, other=other))


def append_in_turn(draft: Draft) -> None:
    """A fault around the moment of an effect, and its message again."""
    message = draft.message(worth_repeating=True)
    how: How = "at once" if draft.random.random() < 0.5 else "wait"
    draft.add(Append(message=message, context=draft.context(), slow=draft.random.choice((0, 1)), how=how))
    draft.add(*draft.faults(joins=True), Again(message=message))


def append_and_cancel(draft: Draft) -> None:
    """An effect that is canceled before its time."""
    message = draft.message(worth_repeating=True)
    draft.add(Append(message=message, context=draft.context(), slow=4, how="at once"))
    draft.add(Cancel(message=message, after=100, joins=True))
    draft.add(LookUp(message=message), Idle(milliseconds=500))


Scene = Callable[[Draft], None]

ALWAYS: tuple[tuple[Scene, int], ...] = (
    (tell, 8),
    (change, 5),
    (take_back, 2),
    (ask, 4),
    (at_once, 3),
    (crowd, 1),
    (neighbours, 3),
    (deep, 1),
    (multitude, 2),
    (again, 3),
    (twice_at_once, 2),
    (follow_up, 3),
    (left_running, 2),
    (cancel, 1),
    (look_up, 2),
    (idle, 1),
)
OF_FAMILY: dict[str, tuple[tuple[Scene, int], ...]] = {
    "streaming": ((cut_stream, 3),),
    "files": ((file, 3),),
    "memory": ((save, 4),),
    "tools": ((append, 3), (append_and_cancel, 1)),
}


def scenes(bounds: Bounds) -> dict[Scene, int]:
    """What can happen, and how often it should."""
    found = dict(ALWAYS)
    for family, more in OF_FAMILY.items():
        if family in bounds.families:
            found |= dict(more)
    if bounds.faults:
        found[in_turn] = 6
        if "tools" in bounds.families:
            found[append_in_turn] = 2
    return found
