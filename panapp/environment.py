"""Reading settings from the environment: typed, and failing closed."""

import ipaddress
import os
import re
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from accounts.oidc.configuration import LONGEST_ISSUER, ROLES
from panapp.declared_settings import default_of
from panprivacy.protocols.dap.task import base_address
from panprivacy.protocols.ed25519 import KeyRefusedError, public_key_of
from panprivacy.protocols.transparency.policy import Policy, PolicyError
from panprivacy.protocols.transparency.signed_note import ED25519, NoteError, VerifierKey, is_name
from storage.key_halves import log_name, public_half
from storage.key_service import TokenAddress
from storage.local_secrets import key_of_32_bytes

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

LONGEST_ORIGIN = 200
"""Characters of the name of a public log."""

LONGEST_SECONDS = 100 * 365 * 86_400
"""Of a duration."""


def _given(name: str, *, local: bool = False) -> str | None:
    """The value of a declared variable, or its default; None if it has neither."""
    default = default_of(name, local=local)
    return os.environ.get(name) or default


def _given_or_default(name: str, *, local: bool = False) -> str:
    """The value of a variable that has a default."""
    value = _given(name, local=local)
    if value is None:
        raise TypeError(f"{name} has no default")
    return value


def text(name: str, default: str | None = None, *, local: bool = False) -> str:
    """The variable's value, which must be set if it has no default.

    Args:
        default: the default that settings compute, if none is declared.
        local: whether its default is that of local mode.
    """
    value = _given(name, local=local) or default
    if value is None:
        raise ImproperlyConfigured(
            f"{name} must be set when PANAPP_MODE is production (see docs/operations/settings.md)"
        )
    return require_utf8(name, value)


def require_utf8(name: str, value: str) -> str:
    """The value; ImproperlyConfigured if its bytes are not UTF-8, which no address or database takes."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ImproperlyConfigured(f"{name} must be UTF-8 text, not {os.fsencode(value)!r}") from None
    return value


def choice(name: str, choices: tuple[str, ...]) -> str:
    """One of the choices."""
    value = _given_or_default(name)
    if value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return value


def long_text(name: str, minimum: int) -> str:
    """A value of at least `minimum` characters; it must be set."""
    value = text(name)
    if len(value) < minimum:
        raise ImproperlyConfigured(f"{name} must have at least {minimum} characters")
    return value


def flag(name: str, *, local: bool = False) -> bool:
    """`1`/`true` or `0`/`false`.

    Args:
        local: whether its default is that of local mode.
    """
    value = _given_or_default(name, local=local).lower()
    if value in {"1", "0", "true", "false"}:
        return value in {"1", "true"}
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}")


def whole_number(name: str, *, minimum: int, local: bool = False) -> int:
    """A whole number of at least `minimum`.

    Args:
        local: whether its default is that of local mode.
    """
    value = _given_or_default(name, local=local)
    try:
        number = int(value)
    except ValueError:
        number = minimum - 1
    if number < minimum:
        raise ImproperlyConfigured(f"{name} must be a whole number of at least {minimum}, not {value!r}")
    return number


def seconds(name: str, *, minimum: int) -> int:
    """A duration in whole seconds, at least `minimum` and at most 100 years: no time overflows by it."""
    found = whole_number(name, minimum=minimum)
    if found > LONGEST_SECONDS:
        raise ImproperlyConfigured(f"{name} must be at most {LONGEST_SECONDS} (100 years), not {found}")
    return found


def number(name: str, *, most: float, local: bool = False) -> float:
    """A number above 0, at most `most`.

    Args:
        local: whether its default is that of local mode.
    """
    value = _given_or_default(name, local=local)
    try:
        found = float(value)
    except ValueError:
        found = 0.0
    if not 0 < found <= most:
        raise ImproperlyConfigured(f"{name} must be a number above 0, at most {most:g}, not {value!r}")
    return found


def words(name: str) -> list[str]:
    """A comma-separated list."""
    return [word.strip() for word in (_given(name) or "").split(",") if word.strip()]


def address(name: str, *, path: str, secure: bool) -> str | None:
    """A base address such as `https://helper.example/helper`; None if the variable is unset or empty.

    Args:
        path: the path of the resources on their host. Requests are signed with their whole address, so a
            proxy cannot move them.
        secure: whether it must be https.
    """
    value = _given(name)
    return _base_address(name, value, path=path, secure=secure) if value else None


def relay_address(name: str, *, secure: bool) -> str | None:
    """The address at which a relay forwards to us, such as `https://relay.example/relay/hospital`.

    None if the variable is unset or empty.

    Args:
        secure: whether it must be https.
    """
    value = _given(name)
    if not value:
        return None
    found = re.search(r"/relay/[a-z0-9-]{1,60}$", value)
    return _base_address(name, value, path=found[0] if found else "/relay/site", secure=secure)


def _base_address(name: str, value: str, *, path: str, secure: bool) -> str:
    schemes = ("https",) if secure else ("https", "http")
    try:
        parts = urlsplit(value)
        host = f"{parts.hostname}" if parts.port is None else f"{parts.hostname}:{parts.port}"
    except ValueError:
        parts, host = urlsplit(""), ""
    # Put together again it must be the same: no user, no query, nothing ambiguous.
    if (
        parts.scheme not in schemes
        or parts.port == 0
        or not host.isascii()
        or value != f"{parts.scheme}://{host}{path}"
    ):
        kinds = " or ".join(f"{scheme}://host{path}" for scheme in schemes)
        raise ImproperlyConfigured(f"{name} must be an address of the form {kinds}, not {value!r}")
    return value


def addresses(name: str, *, secure: bool) -> dict[str, str]:
    """Base addresses by name, as `site=https://telemetry.example,site/helper=https://helper.example`.

    Args:
        secure: whether they must be https.
    """
    found: dict[str, str] = {}
    for word in words(name):
        key, _, value = word.partition("=")
        if not re.fullmatch(r"[a-z0-9-]{1,60}(/[a-z0-9-]{1,60})?", key) or key in found:
            raise ImproperlyConfigured(
                f"{name} must be name=address pairs, comma-separated, each name once, of a-z, 0-9 and -, "
                "or two such with a / between them"
            )
        found[key] = _base_address(name, value, path="", secure=secure)
    return found


def partners(name: str, *, secure: bool) -> list[str]:
    """Base addresses of other servers, comma-separated, without the slash that some end in.

    Args:
        secure: whether they must be https.
    """
    return [
        _base_address(name, address, path=_path(address), secure=secure)
        for address in map(base_address, words(name))
    ]


def _path(address: str) -> str:
    found = re.fullmatch(r"[a-z]+://[^/]+((?:/[A-Za-z0-9._~-]+)*)", address)
    return found[1] if found else ""


def origins(name: str, *, secure: bool) -> list[str]:
    """Origins of pages as browsers write them: `https://library.example`, comma-separated.

    Args:
        secure: whether they must be https.
    """
    return [_base_address(name, word, path="", secure=secure) for word in words(name)]


def attestation(name: str, *, local: bool) -> str:
    """How an attester knows devices: `roster`, `webauthn`, `mtls`, and locally `trial`."""
    kind = choice(name, ("roster", "webauthn", "mtls", "trial"))
    if kind == "trial" and not local:
        raise ImproperlyConfigured(
            f"{name} must not be trial in production: it lets every fresh key be a device"
        )
    return kind


def header(name: str, *, needed: bool) -> str | None:
    """Name of a header that the proxy overwrites in every request; None if the variable is unset or empty.

    Letters and digits only: WSGI makes one name of `X-Subject` and `X_Subject`, and of two such headers the
    server takes the last. With a hyphen a client could pose as any device, if the proxy passes the other
    header on.

    Args:
        needed: whether it must be set; otherwise it must not be.
    """
    value = _given(name)
    if needed != (value is not None):
        raise ImproperlyConfigured(f"{name} must be set if PANAPP_ATTESTATION is mtls, and only then")
    if value is not None and not re.fullmatch(r"[A-Za-z][A-Za-z0-9]{0,60}", value):
        raise ImproperlyConfigured(
            f"{name} must be a header's name of letters and digits only, not {value!r}"
        )
    return value


def verification_key(name: str, *, own: bytes) -> bytes | None:
    """The other side's Ed25519 verification key, 32 bytes; None if the variable is unset or empty.

    Args:
        own: our signing key, empty if this process has none. Its public half is no key of another.
    """
    value = _given(name)
    if not value:
        return None
    key = key_of_32_bytes(name, value)
    try:
        public_key_of(key)
    except KeyRefusedError as error:
        raise ImproperlyConfigured(f"{name} {error}") from None
    if own and key == public_half(own):
        raise ImproperlyConfigured(f"{name} is our own verification key; it must be the other side's")
    return key


def log_origin(name: str, *, signing_key: bytes) -> str:
    """The name of this installation's public log, such as `telemetry.example/log`.

    If it is unset, one made from the signing key; empty if there is none of either.
    """
    value = _given(name)
    if not value:
        return log_name(public_half(signing_key)) if signing_key else ""
    if not is_name(value) or len(value) > LONGEST_ORIGIN:
        raise ImproperlyConfigured(
            f"{name} must have 1 to {LONGEST_ORIGIN} characters without spaces and plus signs, not {value!r}"
        )
    return value


def verifier_keys(name: str) -> tuple[VerifierKey, ...]:
    """Keys of logs, `name+identifier+base64`, comma-separated."""
    try:
        keys = tuple(map(VerifierKey.parse, words(name)))
    except NoteError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from None
    if any(key.kind != ED25519 for key in keys):
        raise ImproperlyConfigured(f"{name} must have keys of logs, not of witnesses")
    return keys


def log_policy(name: str) -> Policy | None:
    """The policy in the file of this path; None if the variable is unset or empty."""
    path = _given(name)
    if not path:
        return None
    try:
        return Policy.parse(Path(path).read_bytes())
    except (OSError, PolicyError) as error:
        raise ImproperlyConfigured(f"{name}: {path}: {error}") from None


def networks(name: str) -> tuple[Network, ...]:
    """Networks such as `10.1.0.0/16`, comma-separated."""
    try:
        return tuple(ipaddress.ip_network(word) for word in words(name))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be networks such as 10.1.0.0/16: {error}") from None


def ports(name: str) -> tuple[int, ...]:
    """Numbers of TCP ports, comma-separated."""
    given = words(name)
    if not all(word.isascii() and word.isdigit() and 0 < int(word) < 65_536 for word in given):
        raise ImproperlyConfigured(f"{name} must be ports from 1 to 65535, comma-separated, not {given}")
    return tuple(int(word) for word in given)


def mail_sender(name: str) -> str:
    """An e-mail address; empty if the variable is unset or empty."""
    value = _given(name) or ""
    if value and not re.fullmatch(r"[!-;=?A-~]+@[A-Za-z0-9.-]+", value):
        raise ImproperlyConfigured(f"{name} must be an address such as telemetry@example.org, not {value!r}")
    return value


class MailServer(NamedTuple):
    """The mail server; `tls` is `implicit`, `starttls`, or empty for none."""

    host: str
    port: int
    user: str
    password: str
    tls: str


def mail_server(name: str, *, local: bool) -> MailServer:
    """A server as `smtps://user:password@host:465`, or `smtp://…:587` with STARTTLS. It must be set.

    Args:
        local: whether one on this machine may go without TLS.
    """
    try:
        parts = urlsplit(_given(name) or "")
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in {"smtp", "smtps"} or not host or parts.path not in {"", "/"}:
        # Without the value, which may hold a password.
        raise ImproperlyConfigured(f"{name} must be of the form smtps://user:password@host:465")
    plain = local and parts.scheme == "smtp" and host in {"127.0.0.1", "localhost"}
    tls = "implicit" if parts.scheme == "smtps" else "" if plain else "starttls"
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return MailServer(host, port or (465 if tls == "implicit" else 587), user, password, tls)


def issuer(name: str, *, secure: bool, needed_by: tuple[str, ...]) -> str | None:
    """Address of an OpenID provider, as `https://login.example/realms/hospital`; None if unset or empty.

    Args:
        secure: whether it must be https.
        needed_by: variables that mean nothing without it.
    """
    value = _given(name)
    if not value:
        for other in needed_by:
            if _given(other):
                raise ImproperlyConfigured(f"{name} must be set if {other} is")
        return None
    if len(value) > LONGEST_ISSUER or not re.fullmatch("[!-~]+", value):
        raise ImproperlyConfigured(
            f"{name} must have 1 to {LONGEST_ISSUER} printable ASCII characters, without spaces"
        )
    path = re.sub("^[a-z]+://[^/?#]*", "", value)
    return _base_address(name, value, path=re.sub("[?#].*", "", path), secure=secure)


METRICS_PATH = "/v1/metrics"
"""Where a collector takes metrics (OTLP 1.5, section OTLP/HTTP Request)."""


def collector(name: str, *, needed_by: str) -> str:
    """Base address of an OpenTelemetry collector, as `https://collector.example:4318`; empty if unset.

    Args:
        needed_by: the variable that means nothing without it.
    """
    value = (_given(name) or "").removesuffix("/")
    if not value:
        if _given(needed_by):
            raise ImproperlyConfigured(f"{name} must be set if {needed_by} is")
        return ""
    _base_address(name, value, path=_path(value), secure=False)
    parts = urlsplit(value)
    if parts.scheme == "http" and not _is_this_machine(parts.hostname or ""):
        raise ImproperlyConfigured(f"{name} must be https, except on this machine")
    if parts.path.endswith(METRICS_PATH):
        raise ImproperlyConfigured(f"{name} must be without {METRICS_PATH}, which is added")
    try:
        version("opentelemetry-exporter-otlp-proto-http")
    except PackageNotFoundError:
        raise ImproperlyConfigured(f"{name} needs what requirements-otlp.txt installs") from None
    return value


OWN_HEADERS = (
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "user-agent",
)
"""Headers that are made for each request."""


def headers(name: str) -> dict[str, str]:
    """Headers of HTTP as `name=value` pairs, comma-separated, values percent-encoded: the format of
    OTEL_EXPORTER_OTLP_HEADERS. No message has a value: it may be a secret."""
    found: dict[str, str] = {}
    for word in words(name):
        key, _, value = word.partition("=")
        key, value = key.strip().lower(), unquote(value.strip())
        if (
            not re.fullmatch(r"[a-z0-9!#$%&'*+.^_`|~-]{1,100}", key)
            or not re.fullmatch(r"[!-~]([ -~]*[!-~])?", value)
            or key in found
            or key in OWN_HEADERS
        ):
            raise ImproperlyConfigured(
                f"{name} must be name=value pairs, comma-separated, each name once and none of "
                f"{', '.join(OWN_HEADERS)}; values have printable ASCII characters, percent-encoded"
            )
        found[key] = value
    return found


def printable(name: str) -> str:
    """1 to 500 printable ASCII characters without spaces. No message has them: they may be a secret."""
    value = _given(name) or ""
    if not re.fullmatch("[!-~]{1,500}", value):
        raise ImproperlyConfigured(f"{name} must have 1 to 500 printable ASCII characters, without spaces")
    return value


def roles(name: str) -> tuple[tuple[str, str], ...]:
    """Pairs of a role and a group, as `analyst=telemetry;auditor=CN=Audit,OU=Telemetry`.

    Semicolons part them: names of groups in directories have commas.
    """
    found = []
    for pair in require_utf8(name, _given(name) or "").split(";"):
        role, _, group = (part.strip() for part in pair.partition("="))
        is_list = re.search(rf",\s*({'|'.join(ROLES)})\s*=", group)
        if role not in ROLES or not group or is_list:
            raise ImproperlyConfigured(
                f"{name} must be role=group pairs, separated by semicolons, not {pair.strip()!r}; "
                f"roles are {', '.join(ROLES)}"
            )
        found.append((role, group))
    return tuple(found)


STORE_SCHEMES = ("s3", "gs", "az")
"""Of object stores: S3 and what speaks its protocol, Google's, Azure's."""

STORE_ENDPOINTS = (
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT",
    "AZURE_ENDPOINT",
    "AZURE_STORAGE_ENDPOINT",
)
"""Variables with the address of such a store, if it is not the usual one."""


def report_store(name: str, *, local: bool) -> str:
    """Address of an object store, as `s3://bucket/prefix`, without a slash at its end; empty if unset.

    A directory, `file:///path`, is for trials: what is written there is not flushed to the disk.
    """
    value = (_given(name) or "").rstrip("/")
    if not value:
        return ""
    parts = urlsplit(value)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ImproperlyConfigured(f"{name} must hold no credentials: they have variables of their own")
    if parts.scheme == "file":
        if not local:
            raise ImproperlyConfigured(f"{name} must not be a directory if PANAPP_MODE is production")
        if parts.netloc or not parts.path.startswith("/"):
            raise ImproperlyConfigured(f"{name} must be file:///path, not {value!r}")
        return value
    if parts.scheme not in STORE_SCHEMES or not parts.netloc:
        known = ", ".join(f"{scheme}://bucket/prefix" for scheme in STORE_SCHEMES)
        known += ", file:///path" if local else ""
        raise ImproperlyConfigured(f"{name} must be one of {known}, not {value!r}")
    for variable in STORE_ENDPOINTS:
        endpoint = urlsplit(os.environ.get(variable, ""))
        if endpoint.scheme == "http" and not _is_this_machine(endpoint.hostname or ""):
            raise ImproperlyConfigured(f"{variable} must be https, except on this machine")
    return value


def key_token(name: str) -> TokenAddress | None:
    """The token of a URI as `pkcs11:token=label?module-path=/path` (RFC 7512); None for `files`.

    Of the attributes, `token`, `serial` and `module-path` are known. No message has the value: a PIN may be
    in it.
    """
    value = _given_or_default(name)
    if value == "files":
        return None
    scheme, _, rest = value.partition(":")
    path, _, query = rest.partition("?")
    in_path, in_query = _attributes(path, ";"), _attributes(query, "&")
    if in_query.keys() & {"pin-value", "pin-source"}:
        raise ImproperlyConfigured(f"{name} must hold no PIN, which is PANAPP_KEY_SERVICE_PIN")
    address = TokenAddress(
        in_query.get("module-path", ""), in_path.get("token", ""), in_path.get("serial", "")
    )
    if (
        scheme != "pkcs11"
        or not {"token", "serial"} >= in_path.keys()
        or in_query.keys() != {"module-path"}
        or not address.module.startswith("/")
        or not (address.token or address.serial)
    ):
        raise ImproperlyConfigured(
            f"{name} must be files, or a URI of the form pkcs11:token=label?module-path=/path/module.so; "
            ";serial=number may follow the label"
        )
    if find_spec("pkcs11") is None:
        raise ImproperlyConfigured(f"{name} needs what requirements-pkcs11.txt installs")
    return address


def _attributes(text: str, separator: str) -> dict[str, str]:
    """Those of one part of a URI; a repeated one makes a name that no part knows."""
    found: dict[str, str] = {}
    for pair in filter(None, text.split(separator)):
        attribute, _, value = pair.partition("=")
        found[pair if attribute in found else attribute] = unquote(value)
    return found


def pin(name: str, *, needed: bool) -> str:
    """A PIN; empty if the variable is unset or empty.

    Args:
        needed: whether it must be set; otherwise it is not read.
    """
    value = _given(name) or "" if needed else ""
    if needed and not value:
        raise ImproperlyConfigured(f"{name} must be set if PANAPP_KEY_SERVICE is a token")
    try:
        value.encode()
    except UnicodeEncodeError:
        # Without the value.
        raise ImproperlyConfigured(f"{name} must be UTF-8 text") from None
    return value


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def token(name: str) -> str | None:
    """A bearer token of 32 characters or more; None if the variable is unset or empty."""
    return long_text(name, minimum=32) if _given(name) else None
