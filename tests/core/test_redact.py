"""Secrets are taken out of text, whatever they look like; what is none stays."""

import pytest

from holdfast.core.redact import redact, redact_fields

SECRET = "s3cr3t-Zq9xW7vT5rP1"
OURS = f"hf_abcdefghij_{SECRET}_43charactersinall"

TELLING = [
    f"postgresql://ada:{SECRET}@db.example/holdfast",
    f"postgresql://ada:{SECRET}@with@ats@db.example/holdfast?x=1",
    f"redis://:{SECRET}@localhost:6379/0",
    f"could not connect to 'postgres://u:{SECRET}@h/d': no route",
    f"https://u:{SECRET}@one.example/a and https://v:{SECRET}@two.example/b",
    f"host=db user=ada password={SECRET} dbname=x",
    f"password='{SECRET} with spaces' host=db",
    f'{{"password": "{SECRET}", "user": "ada"}}',
    f'{{"apiKey":"{SECRET}","model":"m"}}',
    f"{{'api_key': '{SECRET}'}}",
    f"Authorization: Bearer {SECRET}",
    f"authorization: Basic {SECRET}==",
    f"Proxy-Authorization=Bearer {SECRET}",
    f"headers: [('authorization', 'Bearer {SECRET}')]",
    f"{{b'authorization': b'Bearer {SECRET}'}}",
    f"sent Bearer {SECRET} to the model",
    f"Sec-WebSocket-Protocol: holdfast, bearer.{SECRET}",
    f"Sec-WebSocket-Protocol: bearer.{OURS}",
    f"Authorization: Bearer {OURS}",
    f"HOLDFAST_TOKEN={OURS} holdfast sessions ls",
    f"GET /ws?session=s&token={SECRET}&after=1",
    f"the token {OURS} is not valid",
    f"OPENAI_API_KEY={SECRET}",
    f"x-api-key: {SECRET}",
    f"client_secret={SECRET}",
    f"Cookie: session={SECRET}; other={SECRET}",
    f"set-cookie: a={SECRET}; Path=/",
    f"key sk-{SECRET}",
    f"key sk-ant-api03-{SECRET}",
    f"key sk-proj-{SECRET}_x-y",
    f"sk_live_{SECRET.replace('-', '')}",
    f"ghp_{SECRET.replace('-', '')}",
    f"github_pat_{SECRET.replace('-', '_')}",
    f"xoxb-1-{SECRET}",
    f"eyJhbGciOi.eyJzdWIi{SECRET}.{SECRET}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n{SECRET}\n-----END RSA PRIVATE KEY-----",
    f"-----BEGIN PRIVATE KEY-----\n{SECRET}",
    f'{{\\"password\\": \\"{SECRET}\\"}}',
]

HARMLESS = [
    "POST /api/actions/{session_id} 409",
    "http://localhost:9000/api/sessions/user/ada@example.org",
    "http://127.0.0.1:9000?user=ada@example.org",
    "the store is short of room: only deletions go on",
    "max_tokens: 500, tokens: 12",
    "basic authentication is not offered, bearer authentication is",
    "a lease's token bucket has 5 left",
    "task-based, disk-full, ask-me-later",
    "sqlite:////var/lib/holdfast/holdfast.db",
    "",
]


@pytest.mark.parametrize("text", TELLING)
def test_a_secret_is_taken_out(text: str) -> None:
    for part in (SECRET, SECRET.replace("-", ""), SECRET.replace("-", "_")):
        assert part not in redact(text)


@pytest.mark.parametrize("text", TELLING)
def test_taking_out_twice_changes_nothing_more(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_what_it_was_for_can_still_be_read() -> None:
    assert redact(f"postgresql://ada:{SECRET}@db/holdfast") == "postgresql://ada:***@db/holdfast"
    assert redact(f"the token {OURS} is not valid") == "the token hf_abcdefghij_*** is not valid"
    assert redact(f"Authorization: Bearer {OURS}, then") == "Authorization: ***, then"
    assert redact(f"?token={SECRET}&after=1") == "?token=***&after=1"


def test_fields_are_hidden_by_their_names_and_by_what_they_say() -> None:
    found = redact_fields(
        {
            "Authorization": SECRET,
            "accessToken": SECRET,
            "tokens": 12,
            "nested": {"password": [SECRET], "url": f"https://u:{SECRET}@h/"},
            "list": [f"sk-{SECRET}", 3, None],
            "tokenId": "abcdefghij",
        }
    )
    assert SECRET not in str(found)
    assert (found["tokens"], found["tokenId"], found["list"][1:]) == (12, "abcdefghij", [3, None])


@pytest.mark.parametrize(
    "piece", ["a", "://a:", "password", "password=", "bearer ", "hf_", "-----BEGIN ", "eyJ.", '\\"', "cookie"]
)
def test_no_text_takes_for_ever(piece: str) -> None:
    """100,000 characters made to be matched again and again: this comes to its end, in milliseconds."""
    for text in (piece * (100_000 // len(piece)), 'password="' + piece * (100_000 // len(piece))):
        redact(text)
