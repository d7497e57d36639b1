"""Shrinking: to the smallest history that still shows it, and never to one that does not."""

import asyncio
from collections.abc import Callable, Sequence

from holdfast.prove.explore.histories.draft import Bounds
from holdfast.prove.explore.histories.generator import generate
from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.histories.operations import Again, Ask, Chat, Kill, Operation, Tell, groups
from holdfast.prove.explore.histories.values import Form
from holdfast.prove.explore.shrink import likely, plainer_courses, renumbered, shrink


def shrunk(course: Course, shows: Callable[[Course], bool], step: int | None = None) -> tuple[Course, list[Course]]:
    """What a history shrinks to, and the smaller ones on the way."""
    way: list[Course] = []

    async def attempt(courses: Sequence[Course]) -> Course | None:
        return next((course for course in courses if shows(course)), None)

    last = len(course.operations) - 1 if step is None else step
    return asyncio.run(shrink(course, last, attempt, way.append)), way


def course_of(*operations: Operation) -> Course:
    return Course(seed=1, number=0, operations=operations)


def loses_at_a_kill(course: Course) -> bool:
    """A runtime that keeps nothing: something is told, then a kill comes, then it is asked for."""
    for place, operation in enumerate(course.operations):
        if isinstance(operation, Tell):
            rest = course.operations[place + 1 :]
            kills = [number for number, other in enumerate(rest) if isinstance(other, Kill)]
            asked = [
                number
                for number, other in enumerate(rest)
                if isinstance(other, Ask) and (other.context, other.fact) == (operation.context, operation.fact)
            ]
            if kills and asked and kills[0] < asked[-1]:
                return True
    return False


def test_a_history_shrinks_to_what_shows_it() -> None:
    found = 0
    for number in range(30):
        course = generate(3, number, Bounds())
        if loses_at_a_kill(course):
            found += 1
            smallest, way = shrunk(course, loses_at_a_kill)
            told, killed, asked = smallest.operations
            assert told == Tell(message=1, context=0, fact=0, value=told.value)  # type: ignore[union-attr]
            assert killed == Kill()
            assert asked == Ask(message=2, context=0, fact=0)
            assert all(loses_at_a_kill(each) for each in way)
            assert way[-1] == smallest
    assert found > 10


def test_what_cannot_be_smaller_stays() -> None:
    course = course_of(Tell(message=1, context=0, fact=0, value=1), Kill(), Ask(message=2, context=0, fact=0))
    smallest, way = shrunk(course, loses_at_a_kill)
    assert smallest == course
    assert way == []


def test_conversations_that_need_not_be_many_become_one() -> None:
    course = course_of(Chat(message=1, context=0, turns=130, apart=True))

    def turns(course: Course, *, apart: bool) -> bool:
        chats = [each for each in course.operations if isinstance(each, Chat)]
        return bool(chats) and chats[0].turns >= 101 and (chats[0].apart or not apart)

    needed, _ = shrunk(course, lambda course: turns(course, apart=True))
    assert needed.operations == (Chat(message=1, context=0, turns=101, apart=True),)
    plain, _ = shrunk(course, lambda course: turns(course, apart=False))
    assert plain.operations == (Chat(message=1, context=0, turns=101),)


def test_pairs_that_are_needed_together_are_found() -> None:
    chatter: list[Operation] = [Chat(message=number, context=1, turns=1) for number in range(10, 30)]
    needed: list[Operation] = [Tell(message=1, context=0, fact=0, value=1), Again(message=1)]
    course = course_of(*chatter[:10], needed[0], *chatter[10:], needed[1], Ask(message=2, context=0, fact=0))
    smallest, _ = shrunk(course, lambda each: all(op in each.operations for op in needed))
    assert smallest.operations == tuple(needed)


def test_a_long_conversation_is_made_as_short_as_it_may_be() -> None:
    course = course_of(Chat(message=1, context=0, turns=45))
    smallest, _ = shrunk(course, lambda each: any(getattr(op, "turns", 0) >= 7 for op in each.operations))
    assert smallest.operations == (Chat(message=1, context=0, turns=7),)


def test_values_contexts_and_moments_are_made_plainer_where_that_may_be() -> None:
    told = Tell(message=5, context=9, fact=3, value=4, form=Form.LONG, how="stream", slow=8, follows=2, joins=True)
    smallest, _ = shrunk(course_of(told), lambda each: len(each.operations) == 1)
    assert smallest.operations == (Tell(message=1, context=0, fact=0, value=4),)
    smallest, _ = shrunk(course_of(told), lambda each: getattr(each.operations[0], "form", None) is Form.LONG)
    assert smallest.operations == (Tell(message=1, context=0, fact=0, value=4, form=Form.LONG),)


def test_what_is_likely_comes_first_and_is_smaller() -> None:
    asked = Ask(message=9, context=0, fact=0)
    told = Tell(message=1, context=0, fact=0, value=1)
    course = course_of(told, Kill(), Tell(message=2, context=1, fact=0, value=2), Kill(after=1), asked, Kill(after=2))
    first, second, third, _ = likely(course, 4)
    assert first.operations == (told, Kill(after=1), asked)
    assert second.operations == (told, asked)
    assert third.operations == (told, Kill(), Kill(after=1), asked)


def test_each_plainer_history_differs_in_one_thing() -> None:
    course = generate(1, 1, Bounds())
    plainer = list(plainer_courses(course))
    assert course not in plainer
    assert all(len(each.operations) == len(course.operations) for each in plainer)


def test_numbers_are_in_order_and_references_hold() -> None:
    operations = (
        Tell(message=7, context=0, fact=3, value=9),
        Again(message=7),
        Tell(message=4, context=0, fact=2, value=1, follows=7),
        Again(message=5),
    )
    assert renumbered(operations) == (
        Tell(message=1, context=0, fact=0, value=9),
        Again(message=1),
        Tell(message=2, context=0, fact=1, value=1, follows=1),
        Again(message=3),
    )


def test_every_smaller_history_is_told_of_the_first_one_too() -> None:
    chatter: list[Operation] = [Chat(message=number, context=1, turns=1) for number in range(10, 14)]
    told = Tell(message=1, context=0, fact=0, value=1)
    course = course_of(told, *chatter, Kill(), Ask(message=2, context=0, fact=0))
    smallest, way = shrunk(course, loses_at_a_kill)
    assert way == [smallest]
    assert smallest.operations == (told, Kill(), Ask(message=2, context=0, fact=0))


def test_what_a_plainer_history_makes_superfluous_is_taken_out_too() -> None:
    """Without waiting, it takes a chat before it; waited for, it does not."""

    def shows(course: Course) -> bool:
        told = [each for each in course.operations if isinstance(each, Tell)]
        return bool(told) and (told[0].how == "wait" or isinstance(course.operations[0], Chat))

    course = course_of(Chat(message=1, context=0, turns=1), Tell(message=2, context=0, fact=0, value=1, how="leave"))
    smallest, _ = shrunk(course, shows)
    assert smallest.operations == (Tell(message=1, context=0, fact=0, value=1),)


def test_long_runs_are_taken_out_at_a_stroke() -> None:
    tried = 0

    def shows(course: Course) -> bool:
        nonlocal tried
        tried += 1
        return any(isinstance(each, Kill) for each in course.operations)

    chatter: list[Operation] = [Chat(message=number, context=1, turns=1) for number in range(1, 129)]
    smallest, _ = shrunk(course_of(*chatter, Kill(), *chatter), shows, step=5)
    assert smallest.operations == (Kill(),)
    assert tried < 60


def test_what_joined_an_operation_that_is_taken_out_does_not_join_the_one_before_it() -> None:
    """A question that was put beside another is not put while the target is being ended."""
    operations: tuple[Operation, ...] = (
        Tell(message=1, context=0, fact=0, value=1),
        Kill(),
        Ask(message=2, context=1, fact=0),
        Ask(message=3, context=0, fact=0, joins=True),
    )
    course = Course(seed=1, number=0, operations=operations)
    first = likely(course, 3)[0]
    assert first.operations == (operations[0], operations[1], Ask(message=3, context=0, fact=0))
    tried: list[Course] = []

    async def attempt(courses: Sequence[Course]) -> Course | None:
        tried.extend(courses)
        return None

    asyncio.run(shrink(course, 3, attempt))
    beside_the_kill = [
        each
        for each in tried
        for group in groups(each.operations)
        if isinstance(each.operations[group[0]], Kill) and len(group) > 1
    ]
    assert beside_the_kill == []
