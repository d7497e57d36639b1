"""One class per defect: each differs from the honest runtime in what it overrides and in nothing else.

The name of a class is the name of its kind: `TaskKeyed` is `task-keyed`.
"""

from holdfast.prove.broken.kinds import conversations, durability, files, recovery, reload, tasks, tools
from holdfast.prove.broken.runtime import Runtime

CLASSES: tuple[type[Runtime], ...] = (
    Runtime,
    conversations.TaskKeyed,
    conversations.SharedHistory,
    conversations.FollowsElsewhere,
    conversations.Overwrites,
    conversations.ForgetsAtCompaction,
    conversations.ForgetsTheMiddle,
    conversations.IdsInAnyCase,
    conversations.IdsCutShort,
    conversations.CutsLongMessages,
    conversations.BelievesTheFirst,
    conversations.SkipsRepeats,
    conversations.EvictsTheOldest,
    durability.MemoryOnly,
    durability.AckBeforeCommit,
    durability.CommitsWithTheNext,
    durability.WritesSessionsLate,
    durability.ForgetsAtASecondCrash,
    durability.LeavesALock,
    durability.ForgetsAtUpgrade,
    durability.CannotReadTheOld,
    durability.RewritesAtStart,
    reload.ReadsBackwards,
    reload.ReadsOnePage,
    reload.ReadsOneLine,
    reload.ReadsAscii,
    reload.MergesAtStart,
    reload.LeavesFilesBehind,
    reload.OldMemories,
    reload.KnowsMessagesInRam,
    reload.KnowsTasksInRam,
    reload.RevivesCanceled,
    reload.FailsWhatHadEnded,
    reload.EmptiesAnswers,
    reload.ForgetsReports,
    reload.ForgetsQuestions,
    files.DropsFileOnly,
    files.DropsFiles,
    files.ForgetsFiles,
    files.LosesReferences,
    tools.MemoryInRam,
    tools.MemoryLate,
    tools.MemoryByContext,
    tools.KeepsTheFirst,
    tools.AllTalk,
    tools.MakesUpAnswers,
    tasks.RunsTwice,
    tasks.OneIdForAll,
    tasks.RacesDuplicates,
    tasks.IgnoresCancel,
    tasks.RefusesCancel,
    tasks.LosesTheTail,
    tasks.TellsTwice,
    tasks.EndsTheStreamEarly,
    tasks.DiesWithTheConnection,
    tasks.OneWire,
    recovery.OrphansTasks,
    recovery.RepeatsEffects,
    recovery.ForgetsTheCutMessage,
    recovery.AsksAgain,
    recovery.RunsAgainAfterAPause,
    recovery.GivesUpAfterAPause,
    recovery.ActsUnasked,
    recovery.UsesUpApprovals,
    recovery.ApprovesTwice,
)


def _name(of: type[Runtime]) -> str:
    """`TaskKeyed` as `task-keyed`; the honest one is none."""
    if of is Runtime:
        return "none"
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in of.__name__).lstrip("-")


RUNTIMES = {_name(of): of for of in CLASSES}
