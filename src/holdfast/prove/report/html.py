"""`report.html`: one page that needs nothing else, not even a network. The verdict first, then what failed and why.

Whatever a target said is text on this page and never markup; a policy in the page forbids every request and every
script but its own few lines, without which it works as well.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files

from holdfast.prove.report.lanes import lanes
from holdfast.prove.report.markup import Markup, join, tag
from holdfast.prove.report.run_record import (
    Document,
    RunRecord,
    Step,
    counts,
    dicts,
    left_out_by_reason,
    outcomes,
    seeds,
    text,
)
from holdfast.prove.report.timeline import timeline
from holdfast.prove.verdict import GROUNDS

MEANINGS = {
    "proven": "Everything that was checked holds.",
    "disproven": "Something that was claimed does not hold.",
    "fault": "Something between the proof and the target broke, so nothing is green.",
    "inconclusive": "Something could not be judged, so nothing is green.",
}
LEGEND = "The bars show when each was at work; an upright line is a stop or a kill of the target."
WRONG = ("disproven", "inconclusive")


def page(recorded: RunRecord) -> str:
    summary, steps = recorded.summary, recorded.steps()
    verdict = text(summary.get("verdict"))
    found = outcomes(summary)
    lane_of = lanes(recorded)
    worst_first = sorted(found, key=_badness)
    wrong = [outcome for outcome in worst_first if outcome.get("verdict") in WRONG]
    rest = worst_first[len(wrong) :]
    body = join(
        _verdict(summary),
        *(_proof(outcome, steps.get(text(outcome.get("name")), [])) for outcome in wrong),
        _layers(dicts(summary.get("layers")), steps.get("layers", [])),
        _overview(worst_first, lane_of, summary),
        _runs(dicts(summary.get("runs"))),
        *(_proof(outcome, steps.get(text(outcome.get("name")), [])) for outcome in rest),
        _surroundings(summary, timeline(steps.get("", []), opened=False), recorded.unread),
        tag(
            "footer",
            f"holdfast {text(_dict(summary, 'versions').get('holdfast'))} · made from summary.json and events.jsonl",
        ),
    )
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy()),
        tag("title", f"{verdict}: {text(_dict(summary, 'target').get('name'))} · holdfast prove"),
        tag("style", Markup(_own("style.css"))),
    )
    script = tag("script", Markup(_own("script.js")))
    return "<!doctype html>\n" + tag("html", tag("head", head), tag("body", body, script), lang="en") + "\n"


def _verdict(summary: Document) -> Markup:
    verdict, target = text(summary.get("verdict")), _dict(summary, "target")
    seconds = summary.get("seconds")
    facts = {
        "target": text(target.get("name")),
        "endpoint": text(target.get("endpoint")),
        "A2A": text(summary.get("wire")),
        "seed": seeds(summary),
        "started": text(summary.get("started_at")),
        "took": f"{seconds:.1f} s" if isinstance(seconds, int | float) else "",
    }
    return tag(
        "header",
        tag("p", "holdfast prove", class_="soft"),
        tag("h1", verdict.capitalize()),
        tag("p", f"{MEANINGS.get(verdict, '')} {counts(summary)}."),
        _facts(facts),
        class_=_class(verdict),
    )


def _overview(found: Iterable[Document], lane_of: Mapping[str, Markup], summary: Document) -> Markup:
    rows = [
        tag(
            "li",
            tag("a", text(outcome.get("name")), href=f"#{text(outcome.get('name'))}"),
            tag("span", text(outcome.get("verdict")), class_="chip"),
            tag("span", _seconds(outcome), class_="seconds"),
            tag("span", text(outcome.get("reason")), class_="reason"),
            lane_of.get(text(outcome.get("name")), Markup("")),
            class_=_class(_kind(outcome)),
            data_name=text(outcome.get("name")),
            data_verdict=_kind(outcome),
        )
        for outcome in found
    ]
    left_out = left_out_by_reason(summary)
    note = join(*(tag("p", f"Left out: {', '.join(names)} ({why}).", class_="soft") for why, names in left_out.items()))
    legend = tag("p", LEGEND, class_="soft") if lane_of else ""
    return tag("section", tag("h2", "Proofs"), legend, tag("ol", *rows, class_="overview"), note, id="proofs")


def _runs(runs: list[Document]) -> Markup:
    if not runs:
        return Markup("")
    rows = [
        tag(
            "li",
            tag("a", text(run.get("evidence")), href=f"{text(run.get('evidence'))}/report.html"),
            tag("span", text(run.get("verdict")), class_="chip"),
            tag("span", _seconds(run), class_="seconds"),
            tag("span", f"seed {text(run.get('seed'))}: {text(run.get('counts'))}", class_="reason"),
            class_=_class(text(run.get("verdict"))),
        )
        for run in runs
    ]
    return tag("section", tag("h2", f"{len(runs)} runs"), tag("ol", *rows, class_="overview"))


def _layers(layers: list[Document], steps: list[Step]) -> Markup:
    """The layers from the outside inwards; what is in order is closed."""
    if not layers:
        return Markup("")
    rows = [
        tag(
            "details",
            tag("summary", text(layer.get("name")), " ", tag("span", text(layer.get("state")), class_="chip")),
            _grounds(layer),
            class_=_class(text(layer.get("state"))),
            open=layer.get("state") != "ok",
        )
        for layer in layers
    ]
    broken = any(layer.get("state") == "broken" for layer in layers)
    title = "Where it broke" if broken else "No layer is broken by itself"
    return tag("section", tag("h2", title), *rows, timeline(steps, opened=False), id="layers")


def _proof(outcome: Document, steps: list[Step]) -> Markup:
    name, verdict = text(outcome.get("name")), text(outcome.get("verdict"))
    return tag(
        "section",
        tag("div", tag("h2", name), tag("span", f"{verdict}  {_seconds(outcome)}", class_="chip"), class_="head"),
        tag("p", text(outcome.get("claim")), class_="soft"),
        tag("p", text(outcome.get("reason"))),
        _grounds(outcome),
        timeline(steps, opened=outcome.get("verdict") in WRONG),
        id=name,
        class_=_class(_kind(outcome)),
        data_name=name,
        data_verdict=_kind(outcome),
    )


def _surroundings(summary: Document, steps: Markup, unread: int) -> Markup:
    arguments, versions = _dict(summary, "arguments"), _dict(summary, "versions")
    note = tag("p", f"{unread:,} events are not shown here; they are in events.jsonl.", class_="soft") if unread else ""
    return tag(
        "section",
        tag("h2", "Arguments and versions"),
        _facts({"command": text(_dict(summary, "target").get("command"))}),
        _facts({_option(name): text(value) for name, value in arguments.items() if value is not False}),
        _facts({name: text(value) for name, value in versions.items()}),
        _facts({"evidence": text(summary.get("evidence")), "logs": ", ".join(map(text, summary.get("logs") or []))}),
        note,
        steps,
    )


def _grounds(found: Document) -> Markup:
    """What was expected, what came, what to do, and a command that shows it."""
    pieces = [
        join(tag("dt", label), tag("dd", tag("pre", text(found.get(key))) if key == "curl" else text(found.get(key))))
        for key, label in GROUNDS.items()
        if found.get(key)
    ]
    return tag("dl", *pieces) if pieces else Markup("")


def _facts(facts: Mapping[str, str]) -> Markup:
    pieces = [join(tag("dt", name), tag("dd", value)) for name, value in facts.items() if value]
    return tag("dl", *pieces) if pieces else Markup("")


def _option(name: str) -> str:
    return f"--{name.removeprefix('as_').replace('_', '-')}"


def _badness(outcome: Document) -> int:
    """What is not proven comes first; otherwise the order of the run stays."""
    return WRONG.index(outcome["verdict"]) if outcome.get("verdict") in WRONG else len(WRONG)


def _kind(outcome: Document) -> str:
    return "fault" if outcome.get("fault") else text(outcome.get("verdict"))


def _seconds(outcome: Document) -> str:
    seconds = outcome.get("seconds")
    return f"{seconds:.2f} s" if isinstance(seconds, int | float) and outcome.get("verdict") != "not reached" else ""


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _dict(document: Document, name: str) -> Document:
    inner = document.get(name)
    return inner if isinstance(inner, dict) else {}


@cache
def _own(name: str) -> str:
    return (files("holdfast.prove.report") / name).read_text(encoding="utf-8")


def _policy() -> str:
    digest = b64encode(sha256(_own("script.js").encode()).digest()).decode()
    nothing = "default-src 'none'; base-uri 'none'; form-action 'none'"
    return f"{nothing}; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
