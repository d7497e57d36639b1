"""What a turn is about: the user's request, what has been done for it, and what is still to be done.

A wish is granted by one call, and a call has one result: as many wishes are done as there are results since the
request. A skill adds the wishes of its instructions once they have been read. What is to be approved is wished for once
the user has approved it: in the result of the question, or in the message after the one that wanted it asked.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.models.messages import PromptRole, Tool
from holdfast.models.simulator import file_questions, toolbox
from holdfast.models.simulator.language import (
    AskUser,
    ReadWish,
    RecallWish,
    Remember,
    UseSkill,
    UseTools,
    Wish,
    approves,
    effects,
    questions,
    wishes,
)
from holdfast.models.simulator.prompt import Utterance
from holdfast.models.simulator.toolbox import PlannedCall

MEMORY = re.compile(r"\b(?:memory|memories)\b", re.IGNORECASE)
MEMORY_FILE = re.compile(r"(?<![\w./~-])(?:[\w./~-]{0,300}/)?MEMORY\.md\b")
MEMORY_FOLDER = re.compile(r"\bmemory at [`\"']?(/[\w./~-]{0,300}/)(?![\w.~-])")


@dataclass(frozen=True, slots=True)
class PromptTurn:
    """The request, the results of the tools since, and all that was heard."""

    request: Utterance
    results: tuple[Utterance, ...]
    searches: tuple[Utterance, ...]
    heard: tuple[Utterance, ...]


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """The wishes of a turn in the order of their results, and the calls to be made now.

    `things` are those that memory is asked for, by a tool or without one; `stuck` says that something is wanted for
    which there is no tool.
    """

    wishes: tuple[Wish, ...]
    calls: tuple[PlannedCall, ...]
    things: tuple[str, ...]
    stuck: bool


def turn_of(heard: Sequence[Utterance]) -> PromptTurn:
    """The turn at the end of what was heard."""
    places = [place for place, said in enumerate(heard) if said.role == PromptRole.USER and not said.summary]
    last = places[-1] if places else len(heard)
    request = heard[last] if places else Utterance(0, PromptRole.USER, "")
    since = [said for said in heard[last + 1 :] if said.role == PromptRole.TOOL]
    return PromptTurn(
        request,
        tuple(result for result in since if not toolbox.is_search(result)),
        tuple(result for result in since if toolbox.is_search(result)),
        tuple(heard),
    )


def plan(turn: PromptTurn, tools: Sequence[Tool]) -> TurnPlan:
    """What is to be done, and which calls do it."""
    asked_for = _wanted(turn)
    # Memory that no tool reaches is looked for in the prompt, and a plain word to remember is an ordinary one.
    wanted = [wish for wish in asked_for if _call(wish, turn, tools) or not _can_do_without(wish, turn)]
    for number, result in enumerate(turn.results):
        if number < len(wanted) and isinstance(wanted[number], UseSkill):
            wanted += effects(_texts(result.words))
        if number < len(wanted) and isinstance(asked := wanted[number], AskUser) and approves(result.words):
            wanted += asked.then
    calls = [_call(wish, turn, tools) for wish in wanted[len(turn.results) :]]
    made = [call for call in calls if call]
    searching = [call for call in made if call.name in toolbox.SEARCHES]
    return TurnPlan(
        wishes=tuple(wanted),
        calls=tuple(searching[:1] or made),
        things=tuple(wish.thing for wish in asked_for if isinstance(wish, RecallWish)),
        stuck=len(made) < len(calls),
    )


def _wanted(turn: PromptTurn) -> list[Wish]:
    words = turn.request.words
    wanted = wishes(words) or _approved(turn)
    if MEMORY.search(words) and not any(isinstance(wish, RecallWish | Remember) for wish in wanted):
        wanted += [RecallWish(thing) for thing in questions(words)]
    question = file_questions.file_question(words)
    if not wanted and question and question.name:
        before = [said for said in turn.heard if said not in turn.results]
        if not file_questions.find(question, before):
            wanted.append(ReadWish(question.name))
    return wanted


def _texts(result: str) -> str:
    """The words of a result; of one that is JSON, every text in it, once."""
    try:
        value = strict_json.parse(result.encode())
    except InvalidJson:
        return result
    return "\n".join(dict.fromkeys(_strings(value)))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(item)


def _approved(turn: PromptTurn) -> list[Wish]:
    """What the user wanted to be asked about in the message before, if this one approves it."""
    before = [said for said in turn.heard if said.role == PromptRole.USER and said.index < turn.request.index]
    if not before or not approves(turn.request.words):
        return []
    return [wish for asked in wishes(before[-1].words) if isinstance(asked, AskUser) for wish in asked.then]


def _can_do_without(wish: Wish, turn: PromptTurn) -> bool:
    match wish:
        case RecallWish() | UseTools():
            return True
        case Remember():
            return not MEMORY.search(turn.request.words)
        case ReadWish():
            return file_questions.file_question(turn.request.words) is not None
    return False


def _call(wish: Wish, turn: PromptTurn, tools: Sequence[Tool]) -> PlannedCall | None:
    """The call for a wish: of the tool, of the one that calls it, or of the search for it."""
    call = toolbox.fitting_call(wish, tools, _memory_file(turn)) or toolbox.call_through(wish, tools, turn.searches)
    return call if call or turn.searches else toolbox.search_for(wish, tools, turn.heard)


def _memory_file(turn: PromptTurn) -> str | None:
    """The file that the runtime says it keeps memory in; one with a whole path before one in the folder for it."""
    told = "\n".join(said.words for said in turn.heard if said.role == PromptRole.SYSTEM)
    file = max(MEMORY_FILE.findall(told), key=len, default=None)
    folder = MEMORY_FOLDER.search(told)
    return folder[1] + file if file and folder and "/" not in file else file
