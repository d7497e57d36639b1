"""The team as a graph: the governor routes, one specialist after the other works, the governor composes and delivers.

Every step ends in a checkpoint before the next begins, so a killed program goes on at the step that it was at. What a
step does outside is safe to do again: a tool has the key of its place in the case, an answer has a file of its own.
What is told of a step is told by the next one, from what is in the checkpoint.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, StateGraph

from apps.answers import AnswerFolder
from apps.crash_points import CrashPoints
from apps.customer_comm import prompts
from apps.customer_comm.prompts import NAMES, SPECIALISTS, Specialist
from apps.report import SessionReport
from apps.tool_server import ToolRefused, ToolServer
from holdfast.core import strict_json

MOST_ROUNDS = 4
"""How often a specialist may ask for tools before it has to answer with what it has."""
KEY = frozenset({"key"})
"""The argument that the program fills in, and no model."""


class Case(TypedDict):
    """A customer's message and how far the team is with it."""

    id: str
    sender: str
    text: str
    route: list[str]
    at: int
    talk: list[BaseMessage]
    calls: int
    notes: list[dict[str, str]]
    effects: list[dict[str, Any]]
    answer: str


def new_case(name: str, sender: str, text: str) -> Case:
    """A case that nobody has looked at."""
    return Case(id=name, sender=sender, text=text, route=[], at=0, talk=[], calls=0, notes=[], effects=[], answer="")


class Team:
    """Governor and specialists, with the model and the tools that they share."""

    def __init__(
        self,
        model: Any,
        tools: ToolServer,
        report: SessionReport,
        answers: AnswerFolder,
        crash: CrashPoints,
        desk_id: str,
    ) -> None:
        self._model = model
        self._tools = tools
        self._report = report
        self._answers = answers
        self._crash = crash
        self._desk_id = desk_id

    def graph(self, checkpoints: Any) -> Any:
        """The team as LangGraph runs it."""
        built = StateGraph(Case)
        built.add_node("route", self._route)
        for specialist in SPECIALISTS:
            built.add_node(specialist.name, self._working(specialist))
        built.add_node("tools", self._use_tools)
        built.add_node("compose", self._compose)
        built.add_node("deliver", self._deliver)
        built.add_edge(START, "route")
        for name in ("route", *NAMES):
            built.add_conditional_edges(name, _whose_turn, [*NAMES, "tools", "compose"])
        built.add_conditional_edges("tools", _whose_turn_it_was, [*NAMES])
        built.add_edge("compose", "deliver")
        built.add_edge("deliver", END)
        return built.compile(checkpointer=checkpoints)

    async def spawn(self) -> None:
        """Tell the session who is in the team."""
        details = {"team_type": "customer_communication", "architecture": "governor+3specialists"}
        await self._report.tell_once("team", "team_spawn", details)
        await self._report.spawn("governor", "governor", "route messages and compose answers")
        for specialist in SPECIALISTS:
            await self._report.spawn(specialist.name, "specialist", specialist.task)

    async def _route(self, case: Case) -> dict[str, Any]:
        self._crash.reached("route:before")
        await self._report.move("execution", f"route {case['id']}")
        words = await self._ask(self._model, [HumanMessage(prompts.routing(case["text"]))])
        needed = [name for name in NAMES if name in words.text.lower()] or ["care"]
        self._crash.reached("route:after")
        return {"route": needed}

    def _working(self, specialist: Specialist) -> Callable[[Case], Any]:
        """The step of a specialist: ask for tools, or say to the governor what came of it."""

        async def work(case: Case) -> dict[str, Any]:
            self._crash.reached("specialist:before")
            await self._report.move("execution", f"{specialist.name} {case['id']}")
            await self._hand_over(case, "governor", specialist.name, case["at"])
            talk = case["talk"] or [HumanMessage(prompts.specialist_task(specialist, case["text"]))]
            offered = [tool.for_model(KEY) for name, tool in self._tools.tools.items() if name in specialist.tools]
            rounds = sum(isinstance(said, AIMessage) for said in talk)
            model = self._model.bind_tools(offered) if offered and rounds < MOST_ROUNDS else self._model
            said = await self._ask(model, talk)
            self._crash.reached("specialist:after")
            if said.tool_calls:
                return {"talk": [*talk, said]}
            note = {"by": specialist.name, "note": said.text}
            return {"talk": [], "notes": [*case["notes"], note], "at": case["at"] + 1}

        return work

    async def _use_tools(self, case: Case) -> dict[str, Any]:
        """What the specialist asked for, each call under a key of its own that a repetition has too."""
        self._crash.reached("tool:before")
        asked, results, effects = case["talk"][-1], [], []
        assert isinstance(asked, AIMessage)
        who = case["route"][case["at"]]
        for number, call in enumerate(asked.tool_calls):
            key = f"{self._desk_id}/{case['id']}/{who}/{case['calls'] + number}"
            words, effect = await self._effect(key, who, call["name"], call["args"])
            results.append(ToolMessage(words, tool_call_id=call["id"], name=call["name"]))
            effects.append(effect)
        self._crash.reached("tool:after")
        return {
            "talk": [*case["talk"], *results],
            "calls": case["calls"] + len(results),
            "effects": [*case["effects"], *effects],
        }

    async def _effect(self, key: str, who: str, name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """One call of a tool, told before and after; the words that the model reads, and the record of it."""
        tool = self._tools.tools.get(name)
        about = {"tool": name, "by": who, "arguments": arguments, "idempotencyKey": key}
        await self._report.tell_once(f"{key}:started", "tool_started", about)
        self._crash.reached("tool:started")
        try:
            if tool is None:
                raise ToolRefused(f"there is no tool {name}")
            keyed = {"key": key} if "key" in tool.schema.get("properties", {}) else {}
            given = await self._tools.call(name, arguments | keyed)
            words, outcome = strict_json.dump(given).decode(), {"result": given}
        except ToolRefused as refusal:
            words, outcome = f"refused: {refusal}", {"refused": str(refusal)}
        self._crash.reached("tool:called")
        await self._report.tell_once(f"{key}:finished", "tool_finished", about | outcome)
        return words, about | outcome

    async def _compose(self, case: Case) -> dict[str, Any]:
        self._crash.reached("compose:before")
        await self._report.move("execution", f"compose {case['id']}")
        await self._hand_over(case, case["route"][-1], "governor", len(case["route"]))
        prompt = HumanMessage(prompts.composition(case["text"], case["notes"]))
        said = await self._ask(self._model, [prompt])
        self._crash.reached("compose:after")
        return {"answer": said.text}

    async def _deliver(self, case: Case) -> dict[str, Any]:
        self._crash.reached("deliver:before")
        await self._report.move("execution", f"deliver {case['id']}")
        document = {
            "id": case["id"],
            "to": case["sender"],
            "answer": case["answer"],
            "specialists": case["route"],
            "effects": case["effects"],
        }
        self._answers.write(case["id"], document)
        self._crash.reached("deliver:after")
        return {}

    async def _hand_over(self, case: Case, giver: str, taker: str, number: int) -> None:
        details = {"case": case["id"], "from": giver, "to": taker}
        await self._report.tell_once(f"{case['id']}:hand over {number}", "hand_over", details)

    async def _ask(self, model: Any, prompt: Sequence[BaseMessage]) -> AIMessage:
        said = await model.ainvoke(list(prompt))
        assert isinstance(said, AIMessage)
        return said


def _whose_turn(case: Case) -> str:
    if case["talk"]:
        return "tools"
    return case["route"][case["at"]] if case["at"] < len(case["route"]) else "compose"


def _whose_turn_it_was(case: Case) -> str:
    return case["route"][case["at"]]
