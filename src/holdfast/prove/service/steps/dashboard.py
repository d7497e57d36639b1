"""The dashboard, in a real browser: the three sessions are in its list, and each opens with its events."""

import json

from holdfast.prove.live.api import at
from holdfast.prove.live.claims import same
from holdfast.prove.service import browser
from holdfast.prove.service.stage import PartLeftOut, ServiceStage, ServiceStep

SHOWS = "the dashboard shows the sessions"
NO_BROWSER = "there is no Chromium on this machine, so nobody has seen the dashboard"
PAGE_SECONDS = 60.0
LISTED = "[...document.querySelectorAll('[data-session]')].map((row) => row.dataset.session)"
TOKEN_KEY = "holdfast.token"


async def perform(stage: ServiceStage) -> str:
    """Open the list and each session, as somebody with a browser does."""
    program = browser.find()
    if program is None:
        raise PartLeftOut(NO_BROWSER, hint="scripts/chromium-here installs one on Debian")
    stage.tell("opening the dashboard in Chromium")
    async with browser.browser_page(program) as page:
        if stage.around.token is not None:
            token = json.dumps(stage.around.token)
            await page.before_each_page(f"sessionStorage.setItem({json.dumps(TOKEN_KEY)}, {token})")
        wanted = list(stage.sessions.values())
        for name, session_id in stage.sessions.items():
            # By agent: a list of hundreds shows its first rows only, and Claude Code's sessions are in it too.
            await page.open(f"{stage.around.dashboard}/#/sessions?agent={name}")

            async def not_listed(session_id: str = session_id) -> str:
                found = await page.value(LISTED)
                return "" if session_id in (found or []) else f"the list does not show {session_id}"

            try:
                await stage.until(SHOWS, not_listed, within=PAGE_SECONDS)
            finally:
                (stage.evidence.folder / f"dashboard-list-{name}.png").write_bytes(await page.picture())
        for session_id in wanted:
            found = await stage.api.must("session", "GET", at("/api/sessions/{}", session_id), limit=1)
            events = f"{found['metadata']['headSeq']:,} events"
            await page.open(f"{stage.around.dashboard}/#/sessions/{session_id}")

            async def not_shown(session_id: str = session_id, events: str = events) -> str:
                text = str(await page.value("document.body.innerText") or "")
                lacking = [words for words in (events, "verified") if words not in text]
                return f"the page of {session_id} does not say {lacking[0]!r}" if lacking else ""

            try:
                await stage.until(SHOWS, not_shown, within=PAGE_SECONDS)
            finally:
                (stage.evidence.folder / f"dashboard-{session_id}.png").write_bytes(await page.picture())
        title = await page.value("document.title")
    same(bool(title), True, SHOWS, "the page has no title")
    return f"{len(wanted)} sessions in the list and each opened, in {program.rpartition('/')[2]}; pictures are beside"


DASHBOARD = ServiceStep("dashboard", "a browser shows the sessions", perform)
