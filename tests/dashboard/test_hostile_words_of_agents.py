"""The same texts in what comes by way of an agent: names of files, keys, agents, tools and models, what tools gave,
questions to a person, and why something ended."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.dashboard.browsing import Tab, needs_chromium
from tests.dashboard.harmless import look_at_all, watched_tab
from tests.dashboard.hostile_texts import hostile_texts
from tests.gateway.process import running
from tests.support.eventually import wait_until

from holdfast.core import HoldfastError, NewEvent, TaskState
from holdfast.store import Store, open_store

pytestmark = [pytest.mark.e2e, needs_chromium]

TEXTS = tuple(hostile_texts())
MANY = 300
"""Of these texts every field takes at least so many; it may refuse some, for a character in them."""
PICTURE = b"\x89PNG\r\n\x1a\n"


class Hostile:
    """An agent that says nothing else, and how many of its texts each field took."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.taken: Counter[str] = Counter()

    async def _tried(self, field: str, write: Awaitable[object]) -> None:
        try:
            await write
        except HoldfastError:
            return
        self.taken[field] += 1

    async def say_everything(self) -> None:
        store = self._store
        for session in ("tools", "files", "ends"):
            await store.sessions.create(session)
        put = await store.attachments.put(PICTURE)
        for number, text in enumerate(TEXTS):
            short = text[:150]
            await self._tried("agent", store.sessions.create(f"agent-{number}", user_id=short, agent=short))
            await self._tried("key", store.keys.resolve(f"agent:main:{short}", session_id=f"key-{number}"))
            await self._tried("file", self._file(number, text, put.digest))
            await self._tried("tool", self._tool(number, text))
            await self._tried("question", self._question(number, text))
            await self._tried("sub-agent", self._sub_agent(number, text))
            await self._tried("end", store.sessions.finalize(f"agent-{number}", outcome={text: text}))
            await self._tried("hold", store.sessions.hold(f"key-{number}", True, reason=text))

    async def _file(self, number: int, text: str, digest: str) -> None:
        name = text[:150].replace("/", "\u2215")  # a name has no slash
        await self._store.attachments.attach("files", digest, name=name, media_type="image/png")
        kind = ("image/png", text)[number % 2]
        file = {"filename": text, "mediaType": kind, "digest": digest, "size": 8, "url": text}
        said = {"role": "agent", "parts": [{"text": text}, file, {"data": {text: text}}]}
        await self._store.append("files", [NewEvent("message", said)])

    async def _tool(self, number: int, text: str) -> None:
        tool = text[:100]
        await self._store.usage.record("tools", tool, input_tokens=1, output_tokens=1)
        await self._store.effects.start("tools", f"call-{number}", tool, {text: text}, shown=text)
        if number % 3:
            await self._store.effects.finish(
                "tools", f"call-{number}", ("finished", "failed")[number % 2], {text: text}
            )
        await self._store.append("tools", [NewEvent("message", {"role": "agent", "parts": [{"text": "done"}]})])

    async def _question(self, number: int, text: str) -> None:
        session, task_id = f"asks-{number}", f"t-{number}"
        asked = NewEvent("message", {"role": "user", "messageId": f"m-{number}", "parts": [{"text": text}]})
        await self._store.keys.resolve(f"agent:main:a2a:{session}", session_id=session)
        begun = await self._store.tasks.begin(session, task_id, session, asked, owner="nobody")
        task = await self._store.tasks.update(begun.task, TaskState.WORKING, {})
        said = {"role": "agent", "messageId": f"a-{number}", "parts": [{"text": text}]}
        state = TaskState.INPUT_REQUIRED if number % 2 else TaskState.FAILED
        await self._store.tasks.update(task, state, {"statusMessage": said}, messages=[NewEvent("message", said)])

    async def _sub_agent(self, number: int, text: str) -> None:
        agent = f"a-{number}"
        await self._store.agents.spawn("ends", text[:100], {text: text}, agent_id=agent)
        await self._store.agents.complete("ends", agent, ("completed", "failed")[number % 2], {"error": text})


async def fill(url: str) -> Counter[str]:
    """A store in which an agent has said all of it; and a summary that says it once more."""
    async with await open_store(url) as store:
        hostile = Hostile(store)
        await hostile.say_everything()
        head = (await store.sessions.get("ends")).head_seq
        await store.checkpoints.compact("ends", "\n\n".join(TEXTS), last_seq=head, name=TEXTS[0][:100])
        return hostile.taken


@pytest.fixture(scope="module")
def gateway_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A gateway on that store."""
    data: Path = tmp_path_factory.mktemp("hostile")
    with ThreadPoolExecutor(1) as aside:  # Playwright's loop runs in this thread
        taken = aside.submit(asyncio.run, fill(f"sqlite:///{data}/holdfast.db")).result()
    assert min(taken.values()) >= MANY and len(taken) == 8, taken
    with running(data) as gateway:
        yield gateway.url


@pytest.fixture
def watched(browser: Browser, gateway_url: str) -> Iterator[Tab]:
    with watched_tab(browser, gateway_url) as tab:
        yield tab


def test_in_the_list(watched: Tab) -> None:
    watched.go("sessions")
    expect(watched.page.locator("[data-session]").first).to_be_visible()
    look_at_all(watched)


@pytest.mark.parametrize("session", ["tools", "files", "ends"])
def test_in_transcripts(watched: Tab, session: str) -> None:
    watched.go(f"sessions/{session}")
    expect(watched.page.locator("[data-seq]").last).to_be_visible()
    look_at_all(watched, -1)
    wait_until(lambda: watched.seqs()[0] == 1 or None)


@pytest.mark.parametrize(
    "place", ["files?panel=files", "ends?panel=agents", "ends?panel=checkpoints", "key-0?panel=details"]
)
def test_beside_transcripts(watched: Tab, place: str) -> None:
    watched.go(f"sessions/{place}")
    expect(watched.page.get_by_role("complementary")).to_be_visible()
    expect(watched.page.locator("[data-seq]").last).to_be_visible()
    look_at_all(watched)


def test_in_what_a_search_finds_and_in_raw_events(watched: Tab) -> None:
    watched.go("sessions/files?panel=search")
    watched.page.get_by_placeholder("Words in this session").fill("executed")
    panel = watched.page.get_by_role("complementary")
    expect(panel.locator("mark").first).to_be_visible()
    look_at_all(watched)
    panel.get_by_role("button").nth(1).click()
    marked = watched.page.locator("article.marked")
    expect(marked).to_be_visible()
    marked.hover()
    marked.get_by_role("button", name="Raw JSON").click()
    expect(watched.page.get_by_role("dialog")).to_contain_text("executed")
    look_at_all(watched)


def test_in_questions_and_their_answers(watched: Tab) -> None:
    watched.go("approvals")
    cards = watched.page.get_by_role("article")
    expect(cards).to_have_count(len(TEXTS) // 2)
    look_at_all(watched)
    cards.first.get_by_label("Your answer").fill(TEXTS[0])
    cards.first.get_by_role("button", name="Send").click()
    expect(cards.first).to_contain_text("You answered")
    expect(cards.first.locator("q")).to_have_text(TEXTS[0])


def test_in_the_overview(watched: Tab) -> None:
    watched.go("overview")
    expect(watched.page.get_by_role("table", name="Tokens and cost of each model")).to_be_visible()
    look_at_all(watched)
