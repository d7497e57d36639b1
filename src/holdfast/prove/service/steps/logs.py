"""What the parts have written, and how they are in the end."""

from holdfast.prove.live.claims import require, same
from holdfast.prove.service.stage import ServiceStage, ServiceStep
from holdfast.prove.service.surroundings import GATEWAY

CLEAN = "the logs have no errors"
WELL = "all is well in the end"
TRACE = "Traceback (most recent call last)"
BAD = frozenset({"error", "critical"})
PAGE = 1000


async def read_logs(stage: ServiceStage) -> str:
    """The gateway logged no error, no program broke with a trace, and nothing is told of what the service refused."""
    cursor: str | None = ""
    lines = 0
    while cursor is not None:
        found = await stage.api.must("logs", "GET", "/api/logs", limit=PAGE, **({"cursor": cursor} if cursor else {}))
        for line in found["lines"]:
            lines += 1
            level = line.get("level") if isinstance(line, dict) else None
            require(level not in BAD, CLEAN, "the gateway logged an error", expected="none", got=str(line)[:300])
        cursor = found["cursor"] if found["lines"] else None
    files = 0
    for name, paths in stage.around.logs().items():
        for path in paths:
            files += 1
            text = path.read_text(errors="replace")
            require(TRACE not in text, CLEAN, f"{name} broke", expected="no trace", got=text[-300:], hint=f"see {path}")
    return f"{lines} lines of the gateway and {files} logs of processes without an error"


async def sum_up(stage: ServiceStage) -> str:
    """Every part is well: the programs by their own word, the gateway by its overview."""
    for program in stage.programs:
        found = await stage.health(program.name)
        stage.note(program.name, "facts", health=found)
        same(found.get("status"), "ok", WELL, f"{program.name} is not well")
        same(found.get("error"), None, WELL, f"{program.name} has an error")
        delivery = found.get("delivery") or {}
        same(delivery.get("refused"), 0, WELL, f"reports of {program.name} were refused")
    overview = await stage.api.must("overview", "GET", "/api/overview")
    bad = [str(each["what"]) for each in overview["troubles"] if each["severity"] == "bad"]
    same(bad, [], WELL, "the gateway has trouble")
    status = await stage.api.must("status", "GET", "/api/status")
    files = status.get("files")
    require(
        files is None or not files.get("trouble"),
        WELL,
        "the files of sessions are not kept up to date",
        expected="no trouble",
        got=str(files and files.get("trouble")),
    )
    running = ", ".join(f"{name} {stage.around.running(name)}" for name in (GATEWAY, *stage.sessions))
    return f"all parts are well: {running}"


LOGS = ServiceStep("logs", "no part logged an error", read_logs)
SUMMARY = ServiceStep("health summary", "every part says that it is well", sum_up)
