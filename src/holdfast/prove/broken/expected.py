"""Which proofs disprove which kind of broken runtime: one table, for the tests, the docs and for --list.

Every kind stands for a defect that somebody had: `source` names a public report of it, or says which mistake it is. A
kind with `explore` is found by no proof of the catalogue, but by histories that nobody wrote down.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expected:
    """A defect and its exact consequences; every proof that is not named here is proven."""

    defect: str
    disproven: frozenset[str] = frozenset()
    not_reached: frozenset[str] = frozenset()
    source: str = ""
    explore: bool = False


def _kind(
    defect: str, *disproven: str, source: str = "", not_reached: tuple[str, ...] = (), explore: bool = False
) -> Expected:
    return Expected(defect, frozenset(disproven), frozenset(not_reached), source, explore)


LOST_APPROVALS = "agenta 5592, agent-framework 7458, executor 1347, mastra 20600"

CONVERSATIONS = {
    "none": _kind("none: the honest control"),
    "task-keyed": _kind(
        "keys a conversation by task id, so every turn is a first turn",
        *("name", "stream-cancel", "crash-mid-turn", "parallel", "task-follow-up", "file-later", "long", "both-wires"),
        *("wording", "children", "pause"),
        not_reached=("restart", "crash", "upgrade"),
        source="google/adk-python 2856, aws/agentcore-cli 808",
    ),
    "shared-history": _kind(
        "has one history for all contexts",
        "isolation",
        source="strands-agents/harness-sdk 990",
    ),
    "follows-elsewhere": _kind(
        "takes a message that names only a task for a new conversation", "task-follow-up", source="a2a-python 1206"
    ),
    "overwrites": _kind(
        "loads the history, thinks and saves it without a lock, so one of two turns at once is lost",
        "parallel",
        source="langgraph 8796, agno 7479",
    ),
    "forgets-at-compaction": _kind("cuts a history off when it has grown too long", "long", source="claude-code 40352"),
    "forgets-the-middle": _kind(
        "keeps the beginning and the end of a long history", "long", source="a summary of first and last"
    ),
    "ids-in-any-case": _kind(
        "takes context ids that differ in case only for one",
        "isolation",
        source="a table whose collation ignores case",
    ),
    "ids-cut-short": _kind(
        "keeps the first 36 letters of a context id", "isolation", source="the column of a2a-sdk's DatabaseTaskStore"
    ),
    "cuts-long-messages": _kind(
        "keeps the first thousand letters of a message", "wording", source="a column with a limit"
    ),
    "believes-the-first": _kind(
        "never changes a fact that it was told in a conversation", "wording", source="profiles that are filled once"
    ),
    "skips-repeats": _kind(
        "takes a message that says what was said before for the same message",
        *("wording", "memory-deep"),
        source="duplicates that are known by their text",
    ),
    "evicts-the-oldest": _kind(
        "forgets the oldest of more than a hundred conversations",
        source="a cache that is taken for the store",
        explore=True,
    ),
}

DURABILITY = {
    "memory-only": _kind(
        "keeps everything in memory",
        *("memory-deep", "restart", "crash", "crash-mid-turn", "file-later"),
        *("parallel", "duplicate", "wording", "task-later", "approval", "children", "upgrade", "effect"),
        source="a2a-python 86, agno 7317",
    ),
    "ack-before-commit": _kind(
        "acknowledges first and commits a minute later; a polite stop flushes",
        *("crash", "crash-mid-turn"),
        *("memory-deep", "file-later", "parallel", "duplicate", "wording", "task-later", "approval", "children"),
        "effect",
        source="claude-code 68314, openclaw 21084",
    ),
    "commits-with-the-next": _kind(
        "makes a turn durable when the next one comes; a polite stop flushes",
        *("crash", "crash-mid-turn"),
        source="a buffer of one turn",
    ),
    "writes-sessions-late": _kind(
        "writes a conversation when its next turn comes; a polite stop flushes",
        *("crash", "crash-mid-turn", "effect", "file-later", "parallel", "duplicate", "wording", "task-later"),
        *("approval", "children"),
        source="a session that is saved when it is loaded again",
    ),
    "forgets-at-a-second-crash": _kind(
        "saves at a start what it has read without the newest turn, and reads that at the next",
        "crash",
        source="a2a-python 1188: a stale snapshot overwrites the store",
    ),
    "leaves-a-lock": _kind(
        "does not start after a kill, whose lock file is still there",
        *("crash", "crash-mid-turn", "effect", "isolation", "file-later", "parallel", "duplicate", "wording"),
        *("task-later", "approval", "children", "memory-deep"),
        source="a lock file that outlives its owner",
    ),
    "forgets-at-upgrade": _kind(
        "looks for its data elsewhere from the next version on", "upgrade", source="opencode 34445, 36178"
    ),
    "cannot-read-the-old": _kind("does not start on the data of the last version", "upgrade", source="codex 45150"),
    "rewrites-at-start": _kind(
        "empties its log at a start and writes it anew",
        source="a file that is not replaced in one step",
        explore=True,
    ),
}

RELOADS = {
    "reads-backwards": _kind(
        "reads a conversation in the wrong order after a restart",
        "wording",
        source="newest first, and not turned round",
    ),
    "reads-one-page": _kind(
        "reads the three newest messages after a restart",
        *("file-later", "parallel", "wording"),
        source="claude-code 56649: 52 turns truncated on resume",
    ),
    "reads-one-line": _kind(
        "reads a message up to its first line break after a restart",
        "wording",
        source="lines that are written without escapes",
    ),
    "reads-ascii": _kind(
        "has no letters but ASCII after a restart", "wording", source="a file opened in the machine's encoding"
    ),
    "merges-at-start": _kind(
        "shows everybody's history to each after a restart",
        "isolation",
        source="all messages, read without their key",
    ),
    "leaves-files-behind": _kind(
        "does not read the files of a conversation after a restart",
        "file-later",
        source="hermes-agent and openclaw drop images of older turns",
    ),
    "old-memories": _kind(
        "lets the oldest value of a memory win when it replays them", "memory-deep", source="a replay without order"
    ),
    "knows-messages-in-ram": _kind(
        "knows a message that comes again only until a restart", "duplicate", source="hermes-agent 61960"
    ),
    "knows-tasks-in-ram": _kind(
        "does not know after a restart which tasks have ended",
        "task-later",
        source="Molecule-AI/molecule-core 176, librefang 3787",
    ),
    "revives-canceled": _kind(
        "goes on after a restart with what was canceled", "task-later", source="elizaOS/eliza 23801"
    ),
    "fails-what-had-ended": _kind(
        "fails at a start what was completed", "task-later", source="a recovery that does not look at the state"
    ),
    "empties-answers": _kind(
        "keeps the state of a task and loses its answer at a restart", "task-later", source="mezmo/aura 368"
    ),
    "forgets-reports": _kind(
        "does not know after a restart what other agents answered",
        "children",
        source="claude-code 77554, opencrabs 1035, openclaw 117453",
    ),
    "forgets-questions": _kind("fails at a start what waits for its user", "approval", source=LOST_APPROVALS),
}

FILES = {
    "drops-file-only": _kind(
        "takes a message without words for an empty one", "file-only", source="a prompt made of text parts"
    ),
    "drops-files": _kind(
        "reads the words of a message only",
        *("file-only", "file-caption", "file-later"),
        source="a prompt made of text parts",
    ),
    "forgets-files": _kind(
        "knows a file in the turn that it came in, and not later", "file-later", source="openclaw: a file in one prompt"
    ),
    "loses-references": _kind(
        "does not follow a reference to an upload", "file-caption", "file-later", source="a link that is not followed"
    ),
}

TOOLS = {
    "memory-in-ram": _kind(
        "has a memory tool that forgets at a restart", "memory-deep", source="saigontechnology/AgentCrew 42"
    ),
    "memory-late": _kind(
        "writes what the memory tool was told when it is told more; a polite stop flushes",
        "memory-deep",
        source="a buffer of one",
    ),
    "memory-by-context": _kind(
        "has a memory tool for each context", "memory", "memory-deep", source="google/adk-python 6854"
    ),
    "keeps-the-first": _kind(
        "has a memory tool that never changes what it knows", "memory-deep", source="a memory that only adds"
    ),
    "all-talk": _kind("says that it used a skill and does nothing", "tool-use", source="an agent without the tool"),
    "makes-up-answers": _kind(
        "makes up what another agent would answer",
        "peer",
        not_reached=("children",),
        source="an agent without the tool",
    ),
}

TASKS = {
    "runs-twice": _kind(
        "runs a message again when it is delivered again",
        "duplicate",
        source="A2A 1987, honcho 982",
    ),
    "one-id-for-all": _kind(
        "takes a message for one of another context, which has the same id",
        "duplicate",
        source="the bare message id as the key",
    ),
    "races-duplicates": _kind(
        "runs a message twice that is delivered twice at once", source="mem0 6515: look, then write", explore=True
    ),
    "ignores-cancel": _kind(
        "says that a task is canceled and goes on with it", "cancel", source="inference-gateway/adk 112"
    ),
    "refuses-cancel": _kind("cannot cancel", "cancel", source="google/adk-python 4127"),
    "loses-the-tail": _kind(
        "tells who subscribes again what was said until then, and the end", "resubscribe", source="a2a-python 832"
    ),
    "tells-twice": _kind(
        "tells who subscribes again twice what was said until then", "resubscribe", source="a2a-sdk 1.3.0"
    ),
    "ends-the-stream-early": _kind("hangs up on who subscribes again", "resubscribe", source="a2a-rs 186"),
    "dies-with-the-connection": _kind(
        "stops working on a task when its stream is cut, and leaves it as working",
        *("stream-cancel", "resubscribe"),
        source="hermes-agent 85016, google/adk-python 4029",
    ),
    "one-wire": _kind(
        "speaks only the version of the protocol that it was first spoken to in",
        "both-wires",
        source="a server that settles on one version",
    ),
}

RECOVERY = {
    "orphans-tasks": _kind(
        "leaves a task that was running at the kill as working, for ever",
        *("crash-mid-turn", "effect"),
        source="a2a-sdk 1.3.0, DatabaseTaskStore",
    ),
    "repeats-effects": _kind(
        "runs a turn that was cut from its beginning", "effect", source="langgraph, as told in hermes-agent 80921"
    ),
    "forgets-the-cut-message": _kind(
        "fails a turn that was cut, and forgets what the user said in it",
        "crash-mid-turn",
        source="openai-agents 1658, nanobot 2334",
    ),
    "asks-again": _kind(
        "asks other agents again at a start", "children", "effect", source="a recovery that runs again what had ended"
    ),
    "runs-again-after-a-pause": _kind(
        "takes over work whose lease has expired, though its owner goes on", "pause", source="langgraph 8796"
    ),
    "gives-up-after-a-pause": _kind(
        "lets go of work whose lease has expired, and leaves it as working",
        "pause",
        source="a lease that is given up without a word",
    ),
    "acts-unasked": _kind(
        "asks for approval of what it has done already", "approval", source="a question that comes after the work"
    ),
    "uses-up-approvals": _kind(
        "takes an approval that comes after a restart, and does nothing", "approval", source=LOST_APPROVALS
    ),
    "approves-twice": _kind(
        "does what was approved whenever an approval comes",
        "approval",
        source="hermes-agent 80921: each resumer fires the gated effect",
    ),
}

KINDS = {**CONVERSATIONS, **DURABILITY, **RELOADS, **FILES, **TOOLS, **TASKS, **RECOVERY}
