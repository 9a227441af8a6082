"""Errors that a caller is expected to show to a person."""


class FieldError(ValueError):
    """A value that a named field cannot take.

    Attributes:
        field: name of the offending field, spelled as in recipe files and the API.
        message: what is wrong and what is allowed, in one sentence without the field's name.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message

    def within(self, name: str) -> "FieldError":
        """The same error, if the field is one of the object `name`: `epsilon` → `parameters.epsilon`."""
        return FieldError(f"{name}.{self.field}", self.message)
