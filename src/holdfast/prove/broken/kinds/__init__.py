"""One class per defect: each differs from the honest runtime in what it overrides and in nothing else."""

from holdfast.prove.broken.kinds import conversations, files, tasks, tools
from holdfast.prove.broken.runtime import Runtime

RUNTIMES: dict[str, type[Runtime]] = {
    "none": Runtime,
    "task-keyed": conversations.TaskKeyed,
    "shared-history": conversations.SharedHistory,
    "follows-elsewhere": conversations.FollowsElsewhere,
    "memory-only": conversations.MemoryOnly,
    "ack-before-commit": conversations.AckBeforeCommit,
    "overwrites": conversations.Overwrites,
    "forgets-at-compaction": conversations.ForgetsAtCompaction,
    "drops-file-only": files.DropsFileOnly,
    "drops-files": files.DropsFiles,
    "forgets-files": files.ForgetsFiles,
    "memory-in-ram": tools.MemoryInRam,
    "memory-by-context": tools.MemoryByContext,
    "keeps-the-first": tools.KeepsTheFirst,
    "all-talk": tools.AllTalk,
    "makes-up-answers": tools.MakesUpAnswers,
    "runs-twice": tasks.RunsTwice,
    "orphans-tasks": tasks.OrphansTasks,
    "ignores-cancel": tasks.IgnoresCancel,
    "loses-the-tail": tasks.LosesTheTail,
    "dies-with-the-connection": tasks.DiesWithTheConnection,
    "one-wire": tasks.OneWire,
}
