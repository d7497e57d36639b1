"""Forks a program of `apps/`, in its own venv: `python app_forks.py MODULE`, then a job on each line of stdin.

The frameworks are imported once, so that a start costs a fifth of the time; what is forked is a process of its own,
which dies of signals. A job is `{"arguments", "environment", "out", "err"}`; the answers are `{"pid"}` and, at its end,
`{"code"}`.
"""

import contextlib
import importlib
import json
import os
import sys
import traceback
from typing import Any


def main() -> None:
    """Fork what is asked for, one after the other, until stdin ends."""
    name = sys.argv[1]
    module = importlib.import_module(f"{name}.program")
    for warm in ("langchain_openai", "aiosqlite", "holdfast.client.service", "httpx2", "uvicorn.lifespan.off"):
        with contextlib.suppress(ImportError):  # which is in the venvs of the programs that need it
            importlib.import_module(warm)
    print(json.dumps({"ready": name}), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(module.main, job)
        print(json.dumps({"pid": pid}), flush=True)
        print(json.dumps({"code": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}), flush=True)


def _become(program: Any, job: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(job["environment"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for path, number in ((job["out"], 1), (job["err"], 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    sys.argv = ["program", *job["arguments"]]
    code = 1
    try:
        program()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
