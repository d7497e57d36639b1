"""Tasks and news as clients are shown them: files that came inline have their bytes again."""

from dataclasses import replace

from holdfast.a2a.files.files import Files
from holdfast.a2a.protocol.wire import Artifact, ArtifactUpdate, Message, News, StatusUpdate, TaskView


async def shown(files: Files, item: News) -> News:
    """An item of news with its files."""
    match item:
        case Message():
            return await shown_message(files, item)
        case TaskView():
            return await shown_task(files, item)
        case StatusUpdate():
            return replace(item, message=item.message and await shown_message(files, item.message))
        case ArtifactUpdate():
            return replace(item, artifact=await _artifact(files, item.artifact))


async def shown_message(files: Files, message: Message) -> Message:
    """A message with its files."""
    return replace(message, parts=await files.show(message.parts))


async def shown_task(files: Files, task: TaskView) -> TaskView:
    """A task with the files of its artifacts and messages."""
    return replace(
        task,
        message=task.message and await shown_message(files, task.message),
        artifacts=tuple([await _artifact(files, artifact) for artifact in task.artifacts]),
        history=tuple([await shown_message(files, message) for message in task.history]),
    )


async def _artifact(files: Files, artifact: Artifact) -> Artifact:
    return replace(artifact, parts=await files.show(artifact.parts))
