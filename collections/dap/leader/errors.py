"""Why the leader refuses a request."""


class CollectionRefusedError(ValueError):
    """A collection job that cannot be.

    Attributes:
        problem: a DAP error, e.g. `batchInvalid`.
    """

    def __init__(self, problem: str, detail: str) -> None:
        super().__init__(detail)
        self.problem = problem
        self.detail = detail


class RegistrationOverError(ValueError):
    """A task that cannot begin any more: it took too long to."""
