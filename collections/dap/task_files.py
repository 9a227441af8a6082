"""Parameters of a task in a file, as Janus reads and writes them (`janus_cli provision-tasks`).

The file is for one side of the task: `role` says which. It holds secrets.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import yaml

from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.basics import TASK_ID_BYTES, BatchMode, HpkeConfig, Interval
from panprivacy.protocols.dap.task import TaskConfiguration, base_address, task_interval_extension
from panprivacy.protocols.dap.tokens import Token, TokenHash
from panprivacy.protocols.dap.vdafs import PRIO3, vdaf_name
from panprivacy.protocols.prio3.prio3 import VERIFY_KEY_SIZE

T = TypeVar("T")

LARGEST_FILE = 64 * 1024
"""Bytes; a task takes a thousand."""

LEADER, HELPER = "Leader", "Helper"
VDAFS: Mapping[str, int] = {vdaf_name(number): number for number in (1, 2, 3, 4)}
"""Names of those that Janus has too → code point."""

CLOCK_SKEW = 300
"""Seconds that a client's clock may be ahead, as here."""

_ALGORITHMS: Mapping[str, Mapping[int, str]] = {
    "kem_id": {
        0x10: "P256HkdfSha256",
        0x11: "P384HkdfSha384",
        0x12: "P521HkdfSha512",
        0x20: "X25519HkdfSha256",
        0x21: "X448HkdfSha512",
    },
    "kdf_id": {1: "HkdfSha256", 2: "HkdfSha384", 3: "HkdfSha512"},
    "aead_id": {1: "Aes128Gcm", 2: "Aes256Gcm", 3: "ChaCha20Poly1305"},
}

_REQUIRED = {
    *("task_id", "peer_aggregator_endpoint", "own_aggregator_endpoint", "batch_mode", "vdaf", "role"),
    *("vdaf_verify_key", "task_info", "min_batch_size", "time_precision", "collector_hpke_config"),
}
_SECRETS = {
    LEADER: {"aggregator_auth_token", "collector_auth_token_hash"},
    HELPER: {"aggregator_auth_token_hash"},
}
# What concerns Janus alone is passed over.
_OPTIONAL = {
    *("aggregation_mode", "task_start", "task_duration", "report_expiry_age", "tolerable_clock_skew"),
    *("hpke_keys", *_SECRETS[LEADER], *_SECRETS[HELPER]),
}


@dataclass(frozen=True, kw_only=True)
class TaskParameters:
    """What one side must know of a task.

    Attributes:
        role: `LEADER` or `HELPER`: whose side it is.
        task_id: 32 bytes.
        verify_key: of the VDAF.
        token: what the leader bears; its side alone has it.
        token_hash: by which the helper recognizes it; its side alone has it.
        collector_token_hash: by which the leader recognizes the collector; its side alone has it.
    """

    role: str
    task_id: bytes
    configuration: TaskConfiguration
    verify_key: bytes = field(repr=False)
    collector_config: HpkeConfig
    token: Token | None = None
    token_hash: TokenHash | None = None
    collector_token_hash: TokenHash | None = None

    @property
    def ends(self) -> tuple[str, str]:
        """Addresses of this side and of the other one, as the configuration has them."""
        config = self.configuration
        return _turned(self.role, config.leader_aggregator_endpoint, config.helper_aggregator_endpoint)

    @property
    def own_url(self) -> str:
        """Base address of this side, without a slash at its end."""
        return base_address(self.ends[0])

    @property
    def peer_url(self) -> str:
        """That of the other side, likewise."""
        return base_address(self.ends[1])


def task_file_read(content: bytes) -> TaskParameters:
    """The one task of a file.

    Raises:
        FieldError: names the field, and what it must be.
    """
    task = _one_task(content)
    role = task.get("role")
    if not isinstance(role, str) or role not in _SECRETS:
        raise FieldError("role", f"must be {LEADER} or {HELPER}")
    for name in sorted(_REQUIRED | _SECRETS[role]):
        if task.get(name) is None:
            raise FieldError(name, f"must be there for the role {role}")
    for name in sorted(set(task) - _REQUIRED - _OPTIONAL, key=str):
        raise FieldError(str(name), "is no field of a task")
    return TaskParameters(
        role=role,
        task_id=_bytes(task, "task_id", TASK_ID_BYTES),
        configuration=_configuration(task, role),
        verify_key=_bytes(task, "vdaf_verify_key", VERIFY_KEY_SIZE),
        collector_config=_object(
            task, "collector_hpke_config", _hpke_config, "id", *_ALGORITHMS, "public_key"
        ),
        token=_object(task, "aggregator_auth_token", _token, "type", "token") if role == LEADER else None,
        token_hash=_hash(task, "aggregator_auth_token_hash") if role == HELPER else None,
        collector_token_hash=_hash(task, "collector_auth_token_hash") if role == LEADER else None,
    )


def task_file_write(parameters: TaskParameters) -> str:
    """Inverse of `task_file_read`. Raises FieldError for a task that Janus cannot run."""
    config = parameters.configuration
    name = vdaf_name(config.vdaf_type)
    if name not in VDAFS:
        raise FieldError("vdaf", f"must be one of {', '.join(VDAFS)} for Janus, not {name}")
    message = PRIO3[config.vdaf_type][0].decode(config.vdaf_configuration)
    fields = dataclasses.asdict(message)
    interval = config.task_interval
    own, peer = parameters.ends
    leader_selects = config.batch_mode is BatchMode.LEADER_SELECTED
    task = {
        "task_id": base64_text.encode_url(parameters.task_id),
        "peer_aggregator_endpoint": peer,
        "own_aggregator_endpoint": own,
        "batch_mode": _Variant("LeaderSelected", {"batch_time_window_size": None})
        if leader_selects
        else "TimeInterval",
        "aggregation_mode": "Synchronous" if parameters.role == HELPER else None,
        "vdaf": _Variant(name, fields) if fields else name,
        "role": parameters.role,
        "vdaf_verify_key": base64_text.encode_url(parameters.verify_key),
        "task_info": base64_text.encode_url(config.task_info),
        "task_start": None if interval is None else interval.start,
        "task_duration": None if interval is None else interval.duration,
        "report_expiry_age": None,
        "min_batch_size": config.min_batch_size,
        "time_precision": config.time_precision,
        "tolerable_clock_skew": -(-CLOCK_SKEW // config.time_precision),
        "collector_hpke_config": _hpke_fields(parameters.collector_config),
        "aggregator_auth_token": None
        if parameters.token is None
        else {"type": parameters.token.type, "token": parameters.token.value},
        "aggregator_auth_token_hash": _hash_fields(parameters.token_hash),
        "collector_auth_token_hash": _hash_fields(parameters.collector_token_hash),
    }
    return yaml.dump([task], Dumper=_Dumper, sort_keys=False)


def _turned(role: str, first: str, second: str) -> tuple[str, str]:
    """Leader and helper → this side and the other one, or back."""
    return (first, second) if role == LEADER else (second, first)


class _Variant:
    """A variant of an enumeration with values: a YAML mapping with the variant's name as its tag."""

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.name = name
        self.fields = fields


class _Loader(yaml.SafeLoader):
    """Safe, with variants, and without references to other parts of the file."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("references are not read")
        return super().compose_node(parent, index)


class _Dumper(yaml.SafeDumper):
    pass


def _variant_of(loader: _Loader, name: str, node: yaml.Node) -> _Variant:
    if not isinstance(node, yaml.MappingNode):
        raise yaml.YAMLError("a variant must have named values")
    fields = loader.construct_mapping(node, deep=True)
    return _Variant(name, {str(key): value for key, value in fields.items()})


_Loader.add_multi_constructor("!", _variant_of)
_Dumper.add_representer(
    _Variant, lambda dumper, value: dumper.represent_mapping(f"!{value.name}", value.fields)
)


def _one_task(content: bytes) -> dict[Any, Any]:
    refusal = FieldError("file", f"must be YAML of at most {LARGEST_FILE:,} bytes: a list of one task")
    if len(content) > LARGEST_FILE:
        raise refusal
    try:
        tasks = yaml.load(content, Loader=_Loader)  # noqa: S506  # a safe one
    except Exception as error:
        # The library raises whatever Python raises for a tag with a value that it does not fit.
        raise refusal from error
    if not isinstance(tasks, list) or len(tasks) != 1 or not isinstance(tasks[0], dict):
        raise refusal
    return tasks[0]


def _configuration(task: Mapping[str, Any], role: str) -> TaskConfiguration:
    own, peer = _text(task, "own_aggregator_endpoint"), _text(task, "peer_aggregator_endpoint")
    leader, helper = _turned(role, own, peer)
    vdaf_type, vdaf_configuration = _vdaf(task["vdaf"])
    try:
        interval = _interval(task)
        configuration = TaskConfiguration(
            task_info=_bytes(task, "task_info"),
            leader_aggregator_endpoint=leader,
            helper_aggregator_endpoint=helper,
            time_precision=_number(task, "time_precision"),
            min_batch_size=_number(task, "min_batch_size"),
            batch_mode=_batch_mode(task["batch_mode"]),
            batch_config=b"",
            vdaf_type=vdaf_type,
            vdaf_configuration=vdaf_configuration,
            extensions=() if interval is None else (task_interval_extension(interval),),
        )
        configuration.encode()
    except InvalidMessageError as error:
        raise FieldError(error.field, error.problem) from None
    return configuration


def _vdaf(value: object) -> tuple[int, bytes]:
    name, fields = (value.name, dict(value.fields)) if isinstance(value, _Variant) else (value, {})
    if not isinstance(name, str) or name not in VDAFS:
        raise FieldError("vdaf", f"must be one of {', '.join(VDAFS)}")
    strategy = fields.pop("dp_strategy", None)
    if strategy not in (None, {"dp_strategy": "NoDifferentialPrivacy"}):
        raise FieldError("vdaf", "must have no dp_strategy: nothing is randomized in a plain task")
    message = PRIO3[VDAFS[name]][0]
    names = {field.name for field in dataclasses.fields(message)}
    if set(fields) != names or not all(type(number) is int for number in fields.values()):
        raise FieldError("vdaf", f"must have the whole numbers {', '.join(sorted(names)) or 'none'}")
    try:
        return VDAFS[name], message(**fields).encode()
    except InvalidMessageError as error:
        raise FieldError("vdaf", str(error)) from None


def _batch_mode(value: object) -> BatchMode:
    if value == "TimeInterval":
        return BatchMode.TIME_INTERVAL
    if isinstance(value, _Variant) and value.name == "LeaderSelected":
        return BatchMode.LEADER_SELECTED
    raise FieldError("batch_mode", "must be TimeInterval or !LeaderSelected")


def _interval(task: Mapping[str, Any]) -> Interval | None:
    given = [name for name in ("task_start", "task_duration") if task.get(name) is not None]
    if not given:
        return None
    return Interval(_number(task, "task_start"), _number(task, "task_duration"))


def _hpke_fields(config: HpkeConfig) -> dict[str, Any]:
    algorithms = {name: known.get(getattr(config, name)) for name, known in _ALGORITHMS.items()}
    for name, algorithm in algorithms.items():
        if algorithm is None:
            raise _unknown_algorithm(name).within("collector_hpke_config")
    return {"id": config.id, **algorithms, "public_key": base64_text.encode_url(config.public_key)}


def _hpke_config(fields: Mapping[str, Any]) -> HpkeConfig:
    config = HpkeConfig(
        id=_number(fields, "id", most=255),
        **{name: _algorithm(fields, name) for name in _ALGORITHMS},
        public_key=_bytes(fields, "public_key"),
    )
    try:
        config.encode()
    except InvalidMessageError as error:
        raise FieldError(error.field, error.problem) from None
    return config


def _algorithm(fields: Mapping[str, Any], name: str) -> int:
    for number, text in _ALGORITHMS[name].items():
        if fields[name] == text:
            return number
    raise _unknown_algorithm(name)


def _unknown_algorithm(name: str) -> FieldError:
    return FieldError(name, f"must be one of {', '.join(_ALGORITHMS[name].values())}")


def _hash_fields(token: TokenHash | None) -> dict[str, str] | None:
    return None if token is None else {"type": token.type, "hash": base64_text.encode_url(token.digest)}


def _token(fields: Mapping[str, Any]) -> Token:
    return Token(_text(fields, "type"), _text(fields, "token"))


def _hash(task: Mapping[str, Any], name: str) -> TokenHash:
    return _object(
        task, name, lambda fields: TokenHash(_text(fields, "type"), _bytes(fields, "hash")), "type", "hash"
    )


def _object(task: Mapping[str, Any], name: str, read: Callable[[Mapping[str, Any]], T], *names: str) -> T:
    """What `read` makes of the object `name` of a task, which must have exactly the fields `names`."""
    fields = task[name]
    if not isinstance(fields, Mapping) or set(fields) != set(names):
        raise FieldError(name, f"must have the fields {', '.join(names)}, and no other")
    try:
        return read(fields)
    except FieldError as error:
        raise error.within(name) from None
    except ValueError as error:
        raise FieldError(name, str(error)) from None


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.isascii() or not value.isprintable():
        raise FieldError(name, "must be text of printable ASCII")
    return value


def _number(fields: Mapping[str, Any], name: str, most: int = 2**64 - 1) -> int:
    value = fields.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise FieldError(name, f"must be a whole number from 0 to {most:,}")
    return value


def _bytes(fields: Mapping[str, Any], name: str, length: int | None = None) -> bytes:
    try:
        return base64_text.decode_url(_text(fields, name), length)
    except base64_text.Base64Error as error:
        raise FieldError(name, str(error)) from None
