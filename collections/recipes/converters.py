"""Path converters."""


class IdentifierConverter:
    """The identifier of a published recipe: 64 hexadecimal digits."""

    regex = "[0-9a-f]{64}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
