"""Whatever programs, users and agents say, nothing of it runs, and nothing is asked of another site."""

from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import expect
from tests.dashboard.browsing import Tab, needs_chromium
from tests.dashboard.writing import append, describe, message, ok

pytestmark = [pytest.mark.e2e, needs_chromium]

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt&#58;alert(1))",
    "[click](data:text/html,<script>alert(1)</script>)",
    "![x](https://evil.example/pixel.png)",
    "<style>*{display:none}</style>",
    '<p style="position:fixed;inset:0">over all</p>',
    "<form action=https://evil.example><button>send</button></form>",
    '<a href="https://evil.example" onclick="alert(1)">a</a>',
    "<math><mtext></mtext><mglyph><style><img src=x onerror=alert(1)></style></mglyph></math>",
    "```html\n<script>alert(1)</script>\n```",
    "<base href=https://evil.example/>",
    "{{constructor.constructor('alert(1)')()}}",
    "\u202egnp.exe",
    "</textarea><script>alert(1)</script>",
]


def test_nothing_that_was_said_runs(tab: Tab, client: httpx2.Client) -> None:
    for number, words in enumerate(HOSTILE):
        session = f"evil-{number}"
        describe(
            client, session, userId=words[:100], tags=[words[:60]], metadata={"title": words, "more": {words: words}}
        )
        append(
            client,
            session,
            message("user", words),
            message("agent", words),
            {"type": words[:60], "details": {words: words}},
        )
        ok(client.post(f"/api/state/{session}/goals", json={"description": words}))
        ok(client.patch(f"/api/state/{session}", json={"word": words, words: 1}))
    tab.go("sessions")
    expect(tab.page.locator("[data-session]")).not_to_have_count(0)
    for number in range(len(HOSTILE)):
        for panel in ("state", "goals", "details"):
            tab.go(f"sessions/evil-{number}?panel={panel}")
            expect(tab.page.locator('[data-seq="2"]')).to_be_visible()
            expect(tab.page.get_by_role("complementary")).to_be_visible()
        assert (
            tab.ask("document.querySelectorAll('main :is(script, iframe, style, form[action], base, object)').length")
            == 0
        )
        assert tab.ask("document.querySelectorAll('article :is(img, svg svg)').length") == 0
        links = tab.ask("[...document.querySelectorAll('.markdown a[href]')].map((each) => each.protocol)")
        assert set(links) <= {"http:", "https:", "mailto:"}
        assert tab.ask("window.forbidden") == []
    tab.go(f"sessions?q={quote(HOSTILE[0])}")
    expect(tab.page.get_by_role("searchbox")).to_have_value(HOSTILE[0])
