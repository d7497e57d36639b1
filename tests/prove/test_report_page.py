"""report.html: what it shows, that nothing in it can be forged, and that it stays small."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.prove.folders import HOSTILE, event, exchange, hostile, outcome, summary, write

from holdfast.core.errors import InvalidInput
from holdfast.prove import report
from holdfast.prove.report import html
from holdfast.prove.report.html import page as page_from
from holdfast.prove.report.run_record import RunRecord, read

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=12,
)


class Elements(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.said: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def page_of(folder: Path) -> str:
    return report.write(folder).read_text()


def test_the_verdict_comes_first_then_what_is_wrong_then_the_rest(tmp_path: Path) -> None:
    crash = outcome("crash", "disproven", expected="the name", got="nothing", curl="curl -sS http://h", hint="look")
    crash |= {"remedy": "keep it on disk", "see": "docs/proofs.md#crash"}
    layers = [{"name": "store", "state": "broken", "got": "no rows"}]
    document = summary(outcome("name"), crash, layers=layers, left_out={"memory": "so it is", "peer": "so it is"})
    page = page_of(write(tmp_path, document, []))
    assert page.index('id="crash"') < page.index('id="layers"') < page.index('id="proofs"') < page.index('id="name"')
    said = " ".join(Elements(page).said)
    order = [
        "Disproven",
        "1 proven, 1 disproven, 2 left out.",
        "the name",
        "nothing",
        "look",
        "keep it on disk",
        "docs/proofs.md#crash",
        "curl -sS",
        "Where it broke",
        "no rows",
        "Left out: memory, peer (so it is).",
    ]
    places = [said.index(word) for word in order]
    assert places == sorted(places)


def test_a_timeline_has_what_was_said_answered_killed_and_started(tmp_path: Path) -> None:
    events = [
        *exchange("crash", "tell", "Hi, my name is Ada.", "Nice to meet you."),
        event("crash", "kill", "kill", 0.5, signal="SIGKILL", pid=12),
        event("crash", "kill elsewhere", "kill", 0.6, command="docker kill agent"),
        event("crash", "start again", "ready", 0.9, pid=13, seconds=0.4),
        event("crash", "look", "file", 1.0, path="/w/f.txt", line="x", count=2),
        event("crash", "tell", "fault", 1.1, message="no answer"),
        event(
            "crash",
            "watch",
            "news",
            1.2,
            body={"result": {"artifactUpdate": {"artifact": {"parts": [{"text": "1 2"}]}}}},
        ),
        event(
            "crash",
            "upload",
            "request",
            1.3,
            body={"params": {"message": {"parts": [{"filename": "a.txt", "raw": "eA=="}]}}},
        ),
        event("crash", "poll", "request", 1.4, body={"method": "GetTask", "params": {"id": "t-1"}}),
        event(
            "crash",
            "poll",
            "answer",
            1.5,
            status=200,
            seconds=0.1,
            body={"result": {"id": "t-1", "status": {"state": "TASK_STATE_WORKING"}}},
        ),
    ]
    said = "".join(Elements(page_of(write(tmp_path, summary(outcome("crash")), events))).said)
    for shown in (
        "“Hi, my name is Ada.”",
        '"Nice to meet you." (0.010 s)',
        "SIGKILL, pid 12",
        "docker kill agent",
        "ready, pid 13 after 0.40 s",
        "/w/f.txt has the line 2 times: x",
        "no answer",
        "“1 2”",
        "file a.txt",
        "GetTask t-1",
        "task working (0.100 s)",
    ):
        assert shown in said


def test_nothing_that_a_target_says_becomes_markup(tmp_path: Path) -> None:
    page = page_of(hostile(tmp_path))
    found = Elements(page)
    assert found.tags.count("script") == 1
    assert "img" not in found.tags
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert page.count("&lt;script&gt;document.title") > 10
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "\\x1b[2J" in page


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    page = page_of(hostile(tmp_path))
    found = Elements(page).attributes
    links = [value for name, value in found if name in {"src", "href", "action", "data"}]
    assert links
    assert all(link and link.startswith("#") for link in links)
    assert [value for name, value in found if name == "content" and value and value.startswith("default-src 'none'")]
    assert "@import" not in page
    assert "url(" not in page


@settings(max_examples=30, deadline=None)
@given(
    ANYTHING, st.lists(st.dictionaries(st.sampled_from(["at", "proof", "step", "event", "body", "status"]), ANYTHING))
)
def test_whatever_is_in_the_files_there_is_a_page(value: object, events: list[dict[str, object]]) -> None:
    kinds = ("request", "answer", "news", "ready", "file", "fault")
    told = [*events, *({"proof": "name", "event": kind, "body": value, "seconds": value} for kind in kinds)]
    document = {"verdict": value, "target": value, "proofs": [outcome("name", reason=value), value], "layers": value}
    page = html.page(RunRecord({**document, "runs": value, "arguments": value, "left_out": value}, told, 0))
    assert Elements(page).tags.count("script") == 1


def test_a_page_of_much_evidence_stays_small_and_says_so(tmp_path: Path) -> None:
    events = [one for turn in range(200) for one in exchange("long", f"turn {turn}", "x" * 3000, "y" * 15_000)]
    events += [event("poll", "wait", "answer", body={"result": turn}) for turn in range(1000)]
    page = page_of(write(tmp_path, summary(outcome("long"), outcome("poll")), events))
    assert len(page) < 1_000_000
    assert "more steps are in events.jsonl" in page
    assert "more characters are in events.jsonl" in page
    assert "more events are in events.jsonl" in page


def test_more_events_than_a_page_can_take_are_counted(tmp_path: Path) -> None:
    folder = write(tmp_path, summary(outcome("name")), exchange("name", "tell", "hi", "yes") * 10)
    size = (folder / "events.jsonl").stat().st_size
    for recorded in (read(folder, most_events=12), read(folder, most_bytes=size * 12 // 20)):
        assert re.search("[78] events are not shown here", page_from(recorded))


def test_events_that_cannot_be_read_are_counted_and_not_fatal(tmp_path: Path) -> None:
    folder = write(tmp_path, summary(outcome("name")), exchange("name", "tell", "hi", "yes"))
    with (folder / "events.jsonl").open("a") as file:
        file.write('{"proof": "name", "st')
    assert "1 events are not shown here" in page_of(folder)


def test_secrets_in_old_evidence_are_masked_on_the_page(tmp_path: Path) -> None:
    events = exchange("name", "tell", "Authorization: Bearer abcdef0123456789", "sk-abcdef0123456789abcd")
    document = summary(outcome("name"), arguments={"store": "postgresql://me:s3cret@db/x"})
    page = page_of(write(tmp_path, document, events))
    assert "postgresql://me:***@db/x" in page
    assert not re.search("s3cret|abcdef0123456789", page)


def test_several_runs_lead_to_the_page_of_each(tmp_path: Path) -> None:
    first = {"seed": 4, "verdict": "proven", "seconds": 1, "counts": "7 proven", "evidence": "run-1"}
    runs = [first, first | {"seed": 5, "evidence": "run-2"}]
    page = page_of(write(tmp_path, summary(outcome("name"), runs=runs), []))
    assert 'href="run-1/report.html"' in page
    assert "seed 4: 7 proven" in page
    assert "<dt>seed</dt><dd>4 to 5</dd>" in page


def test_a_folder_without_a_summary_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refusal:
        report.write(tmp_path)
    assert "events.jsonl only" in (refusal.value.hint or "")


def test_the_reports_are_made_from_the_folder_alone_and_the_same_again(tmp_path: Path) -> None:
    folder = hostile(tmp_path)
    made = {
        name: (report.write(folder).with_name(name)).read_bytes() for name in ("report.html", "junit.xml", "summary.md")
    }
    report.write(folder)
    assert made == {name: (folder / name).read_bytes() for name in made}
    assert HOSTILE in json.loads((folder / "summary.json").read_text())["proofs"][0]["got"]
