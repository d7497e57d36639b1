"""The dashboard in a real Chromium, with much data behind it: how soon something is there, how smoothly it scrolls,
what it keeps in memory while events come in, and what open pages cost a gateway.

A busy machine stretches wall time, so the processor time of the page's main thread is given beside it, and a long task
is one that took long of the processor.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench import chromium
from bench.line import Effort, Line
from bench.live_writer import writing
from bench.servers import Server, gateway

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession, Page

DEMO = Path(__file__).parents[1] / "scripts/demo-data"
LONG = "long-running"
SESSIONS, EVENTS = 100_000, 100_000
QUICK_SESSIONS, QUICK_EVENTS = 10_000, 20_000
LIST_SECONDS, OPEN_SECONDS = 1.0, 1.0
TASK_MS = 50.0
HEAP_MB = 25.0
CORE_PERCENT = 5.0
WHEELS, WHEEL_PIXELS, WHEEL_MS = 60, 1500, 50
EVENTS_PER_SECOND = 50
PAGES = ("sessions",) * 20 + (f"sessions/{LONG}",) * 15 + ("overview",) * 10 + ("approvals",) * 5
IDLE_SECONDS, QUICK_IDLE_SECONDS = 30.0, 10.0
OPENINGS = 5
SETTLE_SECONDS, RESTING_PERCENT = 600.0, 3.0
PATIENCE_MS = 120_000
MB = 1024 * 1024

WATCH = """
window.found = null;
const look = () => {
  const seen = [...document.querySelectorAll(SELECTOR)].some((each) => {
    const box = each.getBoundingClientRect();
    return box.height > 0 && box.top < innerHeight && box.bottom > 0;
  });
  if (seen) window.found = performance.now();
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
ALL = (
    ("dashboard-list", "from opening the page to the first row, {sessions:,} sessions", "s", LIST_SECONDS),
    ("dashboard-open", "from opening a session of {events:,} events to its newest entry", "s", OPEN_SECONDS),
    ("dashboard-scroll", "the longest task while scrolling that session, of the processor", "ms", TASK_MS),
    ("dashboard-heap", "the page's memory after a live tail at 50 events/s", "MB", HEAP_MB),
    ("dashboard-idle", "what 50 open pages take of the gateway while nothing happens", "% of a core", CORE_PERCENT),
)


def measure(effort: Effort) -> list[Line]:
    """All five; said to be missing where there is no Chromium, or nothing to drive it."""
    sessions, events = (QUICK_SESSIONS, QUICK_EVENTS) if effort.quick else (SESSIONS, EVENTS)
    whats = {name: (what.format(sessions=sessions, events=events), unit, most) for name, what, unit, most in ALL}

    def line(name: str, value: float, beside: dict[str, float], note: str = "") -> Line:
        what, unit, most = whats[name]
        return Line(name, what, unit, value, at_most=most, beside=beside, note=note)

    if missing := chromium.missing():
        note = f"NOT MEASURED: {missing}"
        return [Line(name, what, unit, at_most=most, note=note) for name, (what, unit, most) in whats.items()]
    with tempfile.TemporaryDirectory(dir=effort.folder) as place:
        data = Path(place)
        counts = [f"--sessions={sessions}", f"--events={events}"]
        subprocess.run([sys.executable, str(DEMO), f"sqlite:///{data}/holdfast.db", *counts], check=True)
        with gateway(data) as server, chromium.browser() as browser:
            settle(server)
            return [
                line("dashboard-list", *opened(browser, server, "sessions", "[data-session]", effort)),
                line("dashboard-open", *opened(browser, server, f"sessions/{LONG}", newest(server), effort)),
                line("dashboard-scroll", *scrolled(browser, server)),
                line("dashboard-heap", *tailed(browser, server, effort.minutes)),
                line("dashboard-idle", *idle(browser, server, QUICK_IDLE_SECONDS if effort.quick else IDLE_SECONDS)),
            ]


def opened(
    browser: "Browser", server: Server, place: str, selector: str, effort: Effort
) -> tuple[float, dict[str, float]]:
    """Seconds from the navigation of a browser that has kept nothing until this is seen."""
    walls, pages, gateways = [], [], []
    for _ in range(min(effort.repeats, OPENINGS)):
        before = server.cpu_seconds
        with tab(browser, WATCH.replace("SELECTOR", json.dumps(selector))) as page:
            tools = performance(page)
            page.goto(address(server, place))
            walls.append(wait_for(page, "window.found") / 1000)
            pages.append(main_thread_seconds(tools))
        gateways.append(server.cpu_seconds - before)
    return median(walls), {
        "least s": min(walls),
        "most s": max(walls),
        "page's thread s": median(pages),
        "gateway s of a core": median(gateways),
    }


def newest(server: Server) -> str:
    """The newest entry of the long session."""
    return f'[data-seq="{head(server)}"]'


def head(server: Server) -> int:
    """The last seq of the long session."""
    found = chromium.get(server, f"/api/sessions/{LONG}?limit=1")
    return int(found["metadata"]["headSeq"])


def scrolled(browser: "Browser", server: Server) -> tuple[float, dict[str, float]]:
    """Milliseconds of the processor that the longest task took while somebody scrolled up through many pages."""
    with tab(browser, WATCH.replace("SELECTOR", json.dumps(newest(server)))) as page:
        page.goto(address(server, f"sessions/{LONG}"))
        wait_for(page, "window.found")
        page.get_by_role("region", name="Transcript").hover()
        browser.start_tracing(page=page, categories=["toplevel", "disabled-by-default-devtools.timeline"])
        for _ in range(WHEELS):
            page.mouse.wheel(0, -WHEEL_PIXELS)
            page.wait_for_timeout(WHEEL_MS)
        reached = page.evaluate("Number(document.querySelector('[data-seq]').dataset.seq)")
        traced = json.loads(browser.stop_tracing())
    tasks = main_tasks(traced["traceEvents"])
    if not tasks:
        raise RuntimeError("the trace has no tasks of the page")
    taken = [task.get("tdur", task["dur"]) / 1000 for task in tasks]
    walls = [task["dur"] / 1000 for task in tasks]
    return max(taken), {
        f"tasks over {TASK_MS:.0f} ms": sum(each > TASK_MS for each in taken),
        f"over {TASK_MS:.0f} ms by the clock": sum(each > TASK_MS for each in walls),
        "longest ms by the clock": max(walls),
        "page's thread s": sum(taken) / 1000,
        "events passed": head(server) - reached,
    }


def main_tasks(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tasks of the main thread of the page that did most."""
    named = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"].get("name") == "CrRendererMain"
    }
    threads: dict[tuple[int, int], list[dict[str, Any]]] = {thread: [] for thread in named}
    for event in events:
        if event.get("name") in {"RunTask", "ThreadControllerImpl::RunTask"} and event.get("ph") == "X":
            threads.get((event["pid"], event["tid"]), []).append(event)
    return max(threads.values(), key=lambda tasks: sum(task["dur"] for task in tasks), default=[])


def tailed(browser: "Browser", server: Server, minutes: float) -> tuple[float, dict[str, float], str]:
    """MB that the page keeps after so many minutes of events; it breaks if the last of them is not seen."""
    with tab(browser, WATCH.replace("SELECTOR", json.dumps(newest(server)))) as page:
        tools = performance(page)
        page.goto(address(server, f"sessions/{LONG}"))
        wait_for(page, "window.found")
        start, before, begun = heap(tools), main_thread_seconds(tools), time.monotonic()
        with writing(server.port, LONG, EVENTS_PER_SECOND) as written:
            middle = start
            while (gone := time.monotonic() - begun) < minutes * 60:
                page.wait_for_timeout(500)
                if middle == start and gone > minutes * 30:
                    middle = heap(tools)
        took = main_thread_seconds(tools) - before
        page.locator(newest(server)).wait_for()
        last = heap(tools)
    return (
        last / MB,
        {
            "at start MB": start / MB,
            "halfway MB": middle / MB,
            "events": written.count,
            "page's thread % of a core": 100 * took / (minutes * 60),
        },
        f"{minutes:g} minutes; --minutes 60 for an hour",
    )


def idle(browser: "Browser", server: Server, seconds: float) -> tuple[float, dict[str, float], str]:
    """Percent of a core, while real tabs show lists, sessions, overviews and approvals, and nothing happens."""
    alone = core_percent(server, seconds)
    context = browser.new_context()
    try:
        for place in PAGES:
            page = context.new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.goto(address(server, place), wait_until="load")
        page.wait_for_timeout(5_000)
        value = core_percent(server, seconds)
        rss = server.rss_bytes / MB
    finally:
        context.close()
    return value, {"without pages %": alone, "gateway MB": rss}, f"{len(PAGES)} real tabs, {seconds:g} s"


def settle(server: Server) -> None:
    """Wait until the gateway rests: after a start on new data it makes its index of words."""
    until = time.monotonic() + SETTLE_SECONDS
    while core_percent(server, 2.0) > RESTING_PERCENT:
        if time.monotonic() > until:
            raise RuntimeError(f"the gateway was still at work after {SETTLE_SECONDS:g} s")


def core_percent(server: Server, seconds: float) -> float:
    """What of a core the gateway takes now."""
    before, begun = server.cpu_seconds, time.monotonic()
    time.sleep(seconds)
    return 100 * (server.cpu_seconds - before) / (time.monotonic() - begun)


@contextmanager
def tab(browser: "Browser", script: str) -> Iterator["Page"]:
    """A tab of a browser that has kept nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    try:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.add_init_script(script)
        yield page
    finally:
        context.close()


def address(server: Server, place: str) -> str:
    return f"http://127.0.0.1:{server.port}/#/{place}"


def wait_for(page: "Page", expression: str) -> float:
    """The value, once there is one. (The page's policy lets nobody evaluate a text in it: the waiting is done here.)"""
    until = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < until:
        if (found := page.evaluate(expression)) is not None:
            return float(found)
        page.wait_for_timeout(20)
    raise RuntimeError(f"{expression} did not come")


def performance(page: "Page") -> "CDPSession":
    """The browser's own counters for a page, in time of the processor."""
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})
    return tools


def main_thread_seconds(tools: "CDPSession") -> float:
    """What the tasks of the page's main thread took of the processor so far."""
    found = {each["name"]: each["value"] for each in tools.send("Performance.getMetrics")["metrics"]}
    return float(found["TaskDuration"])


def heap(tools: "CDPSession") -> int:
    """Bytes that the page's script keeps, without what nobody refers to any more."""
    tools.send("HeapProfiler.collectGarbage")
    return int(tools.send("Runtime.getHeapUsage")["usedSize"])
