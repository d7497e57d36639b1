"""The five steps of a mail as a graph. Each ends in a checkpoint before the next begins.

What a step finds is told by the one after it, from the checkpoint; sending has the mail's id for its key, so that a
step that is done again sends nothing again.
"""

from typing import Any, TypedDict

from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, StateGraph

from apps.crash_points import CrashPoints
from apps.email_solver.points import STEPS
from apps.prompts import given
from apps.report import SessionReport
from apps.tool_server import ToolRefused, ToolServer
from holdfast.core import strict_json
from holdfast.core.errors import HoldfastError

CATEGORIES = ("booking", "complaint", "spam", "question")
"""The last one is what a mail is that is none of the others."""
MEMBERS = ("name", "date", "time", "passengers", "reference")
INTENTIONS = {
    "booking": "Thank you for your wish to fly with us. We have these details and will confirm the seats.",
    "complaint": "We are sorry. A person of our team will look at this today and write to you.",
    "question": "Thank you for your question. A person of our team will answer it within a day.",
}


class MailCase(TypedDict):
    """A mail and how far the pipeline is with it."""

    id: str
    mail: dict[str, Any]
    category: str
    details: dict[str, Any]
    draft: str
    outcome: str


def new_case(name: str) -> MailCase:
    """A mail that nobody has looked at."""
    return MailCase(id=name, mail={}, category="", details={}, draft="", outcome="")


class Pipeline:
    """The steps, with the model and the mail server that they use."""

    def __init__(self, model: Any, tools: ToolServer, report: SessionReport, crash: CrashPoints) -> None:
        self._model = model
        self._tools = tools
        self._report = report
        self._crash = crash

    def graph(self, checkpoints: Any) -> Any:
        """The pipeline as LangGraph runs it."""
        built = StateGraph(MailCase)
        for step in STEPS:
            built.add_node(step, self._step(step))
        built.add_edge(START, "fetch")
        built.add_edge("fetch", "classify")
        built.add_conditional_edges("classify", _what_next, ["extract", "deliver"])
        built.add_edge("extract", "draft")
        built.add_edge("draft", "deliver")
        built.add_edge("deliver", END)
        return built.compile(checkpointer=checkpoints)

    def _step(self, step: str) -> Any:
        does = {
            "fetch": self._fetch,
            "classify": self._classify,
            "extract": self._extract,
            "draft": self._draft,
            "deliver": self._deliver,
        }[step]

        async def run(case: MailCase) -> dict[str, Any]:
            self._crash.reached(f"{step}:before")
            await self._report.move("execution", f"{step} {case['id']}")
            before = _settled(case)
            await self._report.tell_once(f"{case['id']}:{step}", "step", {"case": case["id"], "step": step} | before)
            found: dict[str, Any] = await does(case)
            self._crash.reached(f"{step}:after")
            return found

        return run

    async def _fetch(self, case: MailCase) -> dict[str, Any]:
        return {"mail": await self._tools.call("read_mail", {"id": case["id"]})}

    async def _classify(self, case: MailCase) -> dict[str, Any]:
        if case["mail"]["automatic"]:
            return {"category": "automatic"}
        said = await self._ask(
            "You sort the mail of an operator of tandem flights. "
            f"Choose one: {', '.join(CATEGORIES)}. Answer with that word and nothing else.\n"
            "- booking: book, reserve, flight, seats\n"
            "- complaint: complain, refund, angry, unacceptable, disappointed\n"
            "- spam: lottery, prize, invest, crypto, casino\n" + given("text", _letter(case))
        )
        return {"category": next((word for word in CATEGORIES if word in said.lower()), CATEGORIES[-1])}

    async def _extract(self, case: MailCase) -> dict[str, Any]:
        said = await self._ask(
            f"Extract what this mail says, as JSON with the members: {', '.join(MEMBERS)}. "
            "A member that the mail does not say is null. Answer with the JSON and nothing else.\n"
            + given("text", _letter(case))
        )
        return {"details": _members(said)}

    async def _draft(self, case: MailCase) -> dict[str, Any]:
        known = [f"- {name}: {value}" for name, value in case["details"].items() if value not in (None, "")]
        notes = "\n".join([INTENTIONS[case["category"]], *known])
        said = await self._ask(
            "Write the answer to this mail from these notes. Promise nothing that is not in them.\n"
            + given("notes", notes)
            + "\n"
            + given("text", _letter(case))
        )
        return {"draft": said}

    async def _deliver(self, case: MailCase) -> dict[str, Any]:
        mail, name = case["mail"], case["id"]
        outcome, about = case["category"], {"category": case["category"], "subject": mail["subject"]}
        if case["draft"]:
            subject = mail["subject"] if mail["subject"].lower().startswith("re:") else f"Re: {mail['subject']}"
            arguments = {"id": name, "to": mail["sender"], "subject": subject, "text": case["draft"]}
            sent = await self._effect("send_answer", arguments | {"in_reply_to": mail["message_id"]})
            outcome, about = ("answered" if "file" in sent else "undeliverable"), about | sent
        await self._tools.call("note_outcome", {"id": name, "outcome": outcome, "about": about})
        self._crash.reached("note:called")
        return {"outcome": outcome}

    async def _effect(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A call that changes something outside, told before and after."""
        key = f"{arguments['id']}/{tool}"
        about = {"tool": tool, "arguments": arguments, "idempotencyKey": key}
        await self._report.tell_once(f"{key}:started", "tool_started", about)
        self._crash.reached("send:started")
        try:
            outcome: dict[str, Any] = await self._tools.call(tool, arguments)
        except ToolRefused as refusal:
            outcome = {"refused": str(refusal)}
        self._crash.reached("send:called")
        await self._report.tell_once(f"{key}:finished", "tool_finished", {"idempotencyKey": key} | outcome)
        return outcome

    async def _ask(self, words: str) -> str:
        said = await self._model.ainvoke([HumanMessage(words)])
        return str(said.text)


def _what_next(case: MailCase) -> str:
    return "extract" if case["category"] in INTENTIONS else "deliver"


def _settled(case: MailCase) -> dict[str, Any]:
    """What the checkpoint has of the step before."""
    if case["draft"]:
        return {"drafted": len(case["draft"])}
    if case["details"]:
        return {"details": case["details"]}
    return {"category": case["category"]} if case["category"] else {}


def _letter(case: MailCase) -> str:
    mail = case["mail"]
    return f"{mail['subject']}\n{mail['text']}"


def _members(said: str) -> dict[str, Any]:
    """The members that a model gave; those that it made no JSON of are null."""
    start, end = said.find("{"), said.rfind("}")
    try:
        value = strict_json.parse(said[start : end + 1].encode())
    except HoldfastError:
        value = {}
    return {name: value.get(name) if isinstance(value, dict) else None for name in MEMBERS}
