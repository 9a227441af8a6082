"""Why an operation on a task was refused; nothing was changed then."""


class TaskConflictError(ValueError):
    """A task with this identifier exists, and is another one."""


class TaskEndedError(ValueError):
    """The task has ended: its keys and shares are deleted. The message states why it ended."""


class IdentifierTakenError(ValueError):
    """A requester chose the identifier of another request's resource, or of one that was deleted."""

    def __init__(self) -> None:
        super().__init__("Another request has this identifier. Choose a new one.")


class BatchCollectedError(ValueError):
    """The bucket was collected: nothing is added any more. DAP's `batch_collected`."""


class BatchOverlapError(ValueError):
    """A part of the batch was collected before. DAP's `batchOverlap`."""


class BatchInvalidError(ValueError):
    """No batch of this task is meant. DAP's `batchInvalid`."""
