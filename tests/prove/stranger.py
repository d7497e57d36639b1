"""`python stranger.py PORT FILE [TOKEN]`: an honest agent as a stranger may write one, in plain Python, for A2A 0.3.

It answers with messages and has no tasks. What was said is in FILE before the answer is sent. With a token it lets in
nobody else, and says the token in its log, as a careless program would.
"""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PORT, FILE, TOKEN = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""
LOCK = threading.Lock()
CARD = {
    "name": "stranger",
    "description": "Remembers.",
    "version": "1",
    "protocolVersion": "0.3.0",
    "url": f"http://127.0.0.1:{PORT}/rpc",
    "capabilities": {},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [],
}


def answer(heard: list[str]) -> str:
    """What the agent says to the last of the things that it heard."""
    if asked := re.search(r"what(?:'s| is) my ([\w ]+)\?", heard[-1], re.I):
        told = [found for said in heard for found in re.findall(rf"my {asked[1]} is (\w+)", said, re.I)]
        return f"Your {asked[1]} is {told[-1]}." if told else "I do not know."
    return f"You said: {heard[-1]}"


def hear(context: str, said: str) -> list[str]:
    """Keep what was said in a context; all that was said there."""
    with LOCK:
        lines = FILE.read_text().splitlines() if FILE.exists() else []
        lines.append(json.dumps([context, said]))
        FILE.write_text("\n".join(lines))
    return [words for own, words in map(json.loads, lines) if own == context]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path != "/.well-known/agent-card.json":
            self.send_error(404)
        elif self.let_in():
            self.reply(CARD)

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.let_in():
            return
        if call["method"] != "message/send":
            self.reply({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32601, "message": "no such method"}})
            return
        message = call["params"]["message"]
        text = answer(hear(message["contextId"], message["parts"][0]["text"]))
        said = {"kind": "message", "role": "agent", "messageId": "m", "contextId": message["contextId"]}
        self.reply({"jsonrpc": "2.0", "id": call["id"], "result": {**said, "parts": [{"kind": "text", "text": text}]}})

    def let_in(self) -> bool:
        given = self.headers.get("Authorization", "")
        sys.stderr.write(f"{given} {self.headers.get('X-Tenant', '')}\n")
        if not TOKEN or given == f"Bearer {TOKEN}":
            return True
        body = json.dumps({"error": f"{given} is not the token"}).encode()
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Bearer realm="stranger"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return False

    def reply(self, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
