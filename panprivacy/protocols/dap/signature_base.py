"""What an HTTP message signature is over (RFC 9421, sections 2 and 4).

That is the covered components and their values, line by line, and last how the signature itself describes
what it covers.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from panprivacy.formats import base64_text


class SignatureRefusedError(ValueError):
    """A message without a valid signature. The text has the reason, for a log; the sender need not see it."""


@dataclass(frozen=True)
class Component:
    """One part of a message that a signature covers.

    Attributes:
        name: of a header in lower case, or derived, e.g. `@method`.
        of_request: whether it belongs to the request that the signed response answers.
        key: the entry of a dictionary header; empty for the whole header.
    """

    name: str
    of_request: bool = False
    key: str = ""

    def __str__(self) -> str:
        """The component identifier, e.g. `"signature";req;key="dap"`."""
        request = ";req" if self.of_request else ""
        key = f';key="{self.key}"' if self.key else ""
        return f'"{self.name}"{request}{key}'


@dataclass(frozen=True)
class SignatureInput:
    """One entry of a Signature-Input header.

    Attributes:
        label: the entry's name, also that of the signature in the Signature header.
        components: in the order in which they are signed; none twice.
        created, expires: seconds since 1970; None if absent.
        algorithm, tag: empty if absent.
        parameters: the entry's value in its original spelling, which is itself signed.
    """

    label: str
    components: tuple[Component, ...]
    created: int | None
    expires: int | None
    algorithm: str
    tag: str
    parameters: str


_LABEL = r"[a-z*][a-z0-9_.*-]{0,63}"
_TEXT = r'"[ !#-\[\]-~]*"'
_COMPONENT = re.compile(rf'"(?P<name>@?[a-z0-9-]+)"(?P<request>;req)?(?:;key="(?P<key>{_LABEL})")?')
_PARAMETER = re.compile(rf"(?P<name>[a-z]+)=(?P<value>-?[0-9]{{1,15}}|{_TEXT})")
_INPUT = re.compile(
    rf"(?P<label>{_LABEL})=(?P<parameters>\((?P<components>[^()]*)\)"
    rf"(?P<rest>(?:;[a-z]+=(?:-?[0-9]{{1,15}}|{_TEXT}))*))"
)
_SIGNATURE = re.compile(rf"(?P<label>{_LABEL})=:(?P<value>[A-Za-z0-9+/]+={{0,2}}):")


def write_input(label: str, components: Sequence[Component], parameters: Mapping[str, int | str]) -> str:
    """A Signature-Input header of one entry.

    Args:
        parameters: e.g. `created`; values are integers or text without quotation marks and backslashes.
    """
    covered = " ".join(map(str, components))
    described = "".join(
        f";{name}={value}" if isinstance(value, int) else f';{name}="{value}"'
        for name, value in parameters.items()
    )
    return f"{label}=({covered}){described}"


def read_input(header: str) -> SignatureInput:
    """Inverse of `write_input`; SignatureRefusedError for more than one entry, a component or parameter
    twice, or a form that is not the serialization of RFC 8941."""
    found = _INPUT.fullmatch(header)
    if found is None:
        raise SignatureRefusedError("Signature-Input is not one signature's description")
    components = []
    for identifier in found["components"].split(" ") if found["components"] else ():
        component = _COMPONENT.fullmatch(identifier)
        if component is None:
            raise SignatureRefusedError("Signature-Input names a component that is not known")
        components.append(
            Component(component["name"], component["request"] is not None, component["key"] or "")
        )
    if len(set(components)) < len(components):
        raise SignatureRefusedError("Signature-Input names a component twice")
    parameters: dict[str, str] = {}
    for parameter in _PARAMETER.finditer(found["rest"]):
        if parameter["name"] in parameters:
            raise SignatureRefusedError("Signature-Input has a parameter twice")
        parameters[parameter["name"]] = parameter["value"]
    times = {name: parameters[name] for name in ("created", "expires") if name in parameters}
    if any(value.startswith('"') for value in times.values()):
        raise SignatureRefusedError("Signature-Input has a time that is no number")
    return SignatureInput(
        label=found["label"],
        components=tuple(components),
        created=int(times["created"]) if "created" in times else None,
        expires=int(times["expires"]) if "expires" in times else None,
        algorithm=parameters.get("alg", "").strip('"'),
        tag=parameters.get("tag", "").strip('"'),
        parameters=found["parameters"],
    )


def write_signature(label: str, signature: bytes) -> str:
    """A Signature header of one entry."""
    return f"{label}={serialized(signature)}"


def read_signature(header: str, label: str) -> bytes:
    """The signature `label`; SignatureRefusedError unless it is the header's only one."""
    found = _SIGNATURE.fullmatch(header)
    if found is None or found["label"] != label:
        raise SignatureRefusedError(f"Signature does not hold one signature, {label}")
    try:
        return base64_text.decode(found["value"])
    except base64_text.Base64Error:
        raise SignatureRefusedError("Signature is not base64") from None


def serialized(value: bytes) -> str:
    """Bytes in a structured header (RFC 8941, section 3.3.5)."""
    return f":{base64_text.encode(value)}:"


def signature_base(
    components: Sequence[Component], values: Mapping[Component, str], parameters: str
) -> bytes:
    """The bytes that are signed (RFC 9421, section 2.5).

    Args:
        components: in the order in which they are signed.
        values: the value of each; SignatureRefusedError if one is missing, or has a line break or a
            character that is not ASCII.
        parameters: the signature's own description, from Signature-Input.
    """
    lines = []
    for component in components:
        value = values.get(component)
        if value is None:
            raise SignatureRefusedError(f"there is no {component} in the message")
        if not value.isascii() or "\n" in value or "\r" in value:
            raise SignatureRefusedError(f"{component} is not one line of ASCII")
        lines.append(f"{component}: {value}")
    lines.append(f'"@signature-params": {parameters}')
    return "\n".join(lines).encode("ascii")
