"""Which devices are known: from a list, by one-time codes, and until they are revoked."""

import hashlib
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, BinaryIO

from django.db import IntegrityError, transaction

from log.audit.operations import entry_append
from panprivacy.formats import base64_text
from panprivacy.formats.csv_table import CsvTable
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.attestation import KEY_BYTES
from panprivacy.protocols.ed25519 import KeyRefusedError, public_key_of
from storage.erasure import log_truncate_on_commit
from tokens.attester.actions import CODES_MADE, DEVICES_ENROLLED, DEVICES_REVOKED
from tokens.attester.models import Device, EnrolmentCode
from web.problems import Problem, invalid_parameter, malformed_body

COLUMNS = ("name", "key")
LONGEST_NAME = 200
MOST_FAULTS = 20
"""Entries of a list that are reported at once."""

MOST_CODES = 100_000
CODES_KEPT = timedelta(days=90)
"""How long an unused code is valid."""

_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_GROUPS, _GROUP = 4, 5
"""20 of 32 letters: 100 bits."""

_BATCH = 500


class ListRefusedError(ValueError):
    """A list with faults; nothing was enrolled. The message has one line for each, with its line's number."""


@dataclass(frozen=True)
class Enrolled:
    """What a list changed.

    Attributes:
        new: devices that were not known.
        replaced: known ones with another key, under the pseudonym that they had.
        unchanged: known ones with the same key.
    """

    new: int
    replaced: int
    unchanged: int


def devices_read(file: BinaryIO) -> dict[str, bytes]:
    """Keys by names, from CSV with the columns `name` and `key` (base64).

    Raises:
        ListRefusedError: names each fault with its line; if no further row can be read after one, it is the
            last.
    """
    found: dict[str, bytes] = {}
    keys: dict[bytes, int] = {}
    faults = []
    try:
        rows = CsvTable(file, COLUMNS, field="file")
        for row in rows.unchecked():
            try:
                rows.require_whole(row)
            except FieldError as fault:
                faults.append(fault.message)
                continue
            try:
                name, key = _device(*row)
                if name in found:
                    raise ValueError(f"name: {name!r} is in the list twice")
                if key in keys:
                    raise ValueError(f"key: is also in line {keys[key]}")
            except ValueError as error:
                faults.append(f"line {rows.line}: {error}")
                continue
            found[name], keys[key] = key, rows.line
    except FieldError as fault:
        faults.append(fault.message)
    _require_none(faults)
    return found


@transaction.atomic
def devices_enrol(*, devices: Mapping[str, bytes]) -> Enrolled:
    """Enrol a list. The same list again changes nothing; devices that it does not name stay.

    Args:
        devices: Ed25519 keys by names.

    Raises:
        ListRefusedError: a device was revoked, or a key is another device's. Nothing was enrolled.
    """
    known = {device.name: device for device in _among("name", list(devices))}
    owners = {bytes(device.key or b""): device.name for device in _among("key", list(devices.values()))}
    faults = []
    for name, key in devices.items():
        if name in known and known[name].revoked:
            faults.append(f"{name}: was revoked")
        elif key in owners and owners[key] != name:
            faults.append(f"{name}: its key is that of {owners[key] or 'a device that enrolled by a code'}")
    _require_none(faults)
    fresh = [Device(name=name, key=key) for name, key in devices.items() if name not in known]
    changed = [known[name] for name, key in devices.items() if name in known and owners.get(key) != name]
    for device in changed:
        device.key = devices[device.name]
    Device.objects.bulk_create(fresh, batch_size=_BATCH)
    Device.objects.bulk_update(changed, ["key"], batch_size=_BATCH)
    enrolled = Enrolled(len(fresh), len(changed), len(devices) - len(fresh) - len(changed))
    if fresh or changed:
        details = {"new": enrolled.new, "replaced": enrolled.replaced}
        entry_append(action=DEVICES_ENROLLED, subject="devices", actor=None, details=details)
    return enrolled


@transaction.atomic
def devices_revoke(*, chosen: Sequence[str], pseudonym_of: Callable[[str], bytes | None]) -> int:
    """Refuse these devices; returns the number of newly refused ones. Their pseudonyms stay.

    Args:
        chosen: names, or keys in base64 (of a WebAuthn credential its identifier in base64url).
        pseudonym_of: of a device that is in no list (`Attestation.pseudonym_of`).

    Raises:
        ListRefusedError: some are not known. Nothing was changed.
    """
    found = {text: _known_as(text) or _noted(text, pseudonym_of(text)) for text in chosen}
    unknown = [text for text, device in found.items() if device is None]
    _require_none([f"{text}: no device has this name or key" for text in unknown])
    keys = [device.pk for device in found.values() if device is not None]
    number = Device.objects.filter(pk__in=keys, revoked=False).update(revoked=True)
    if number:
        entry_append(action=DEVICES_REVOKED, subject="devices", actor=None, details={"devices": number})
    return number


@transaction.atomic
def codes_make(*, number: int, today: date) -> list[str]:
    """Fresh one-time codes. Only their hashes are stored.

    Args:
        number: 1 to `MOST_CODES`.
    """
    codes = [_code() for _ in range(number)]
    EnrolmentCode.objects.bulk_create(
        (EnrolmentCode(digest=_digest(code), made_on=today) for code in codes), batch_size=_BATCH
    )
    entry_append(action=CODES_MADE, subject="codes", actor=None, details={"codes": number})
    return codes


def codes_expire(*, today: date) -> int:
    """Delete unused codes that are too old; the number of them."""
    deleted, _ = EnrolmentCode.objects.filter(used=False, made_on__lt=today - CODES_KEPT).delete()
    log_truncate_on_commit()
    return deleted


def code_use(*, code: str, key: bytes, credential_key: bytes | None = None, uses: int = 0) -> None:
    """Enrol a device by its code. The same code with the same key again changes nothing.

    Args:
        key: Ed25519 key, or identifier of a WebAuthn credential, with its `credential_key` and count of
            `uses`.

    Raises:
        Problem: the code was never made, was used with another key, or is too old (`code-refused`, whichever
            it is); or the key is enrolled already (`key-known`).
    """
    used = _digest(code, key)
    if EnrolmentCode.objects.filter(digest=used, used=True).exists():
        return
    try:
        with transaction.atomic():
            # The first request to change the row has used it; another waits, and finds no such row.
            waiting = EnrolmentCode.objects.filter(digest=_digest(code), used=False)
            if not waiting.update(digest=used, used=True):
                raise Problem("code-refused", "The code is refused", 403, "It is unknown, used or expired.")
            Device.objects.create(key=key, credential_key=credential_key, uses=uses)
    except IntegrityError:
        # Two that send the same at once both get here; the other one enrolled the device.
        if not EnrolmentCode.objects.filter(digest=used, used=True).exists():
            detail = "This key is enrolled already. The code was not used."
            raise Problem("key-known", "The key is known", 409, detail) from None


def device_key(members: Mapping[str, Any]) -> bytes:
    """The one field `key`, an Ed25519 key in base64. Raises Problem if it is invalid."""
    try:
        if set(members) != {"key"}:
            raise ValueError
        return _key(members["key"])
    except KeyRefusedError as error:
        raise invalid_parameter("key", f"key {error}.") from None
    except ValueError:
        detail = f"The body must have `code` and `key`: an Ed25519 key, {KEY_BYTES} bytes in base64."
        raise malformed_body(detail) from None


def _device(name: str, key: str) -> tuple[str, bytes]:
    name = name.strip()
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise ValueError(f"name: must have 1 to {LONGEST_NAME} printable characters")
    try:
        return name, _key(key.strip())
    except KeyRefusedError as error:
        raise ValueError(f"key: {error}") from None
    except ValueError:
        raise ValueError(f"key: must be an Ed25519 key, {KEY_BYTES} bytes in base64") from None


def _key(text: object) -> bytes:
    key = base64_text.decode(text, KEY_BYTES)
    public_key_of(key)
    return key


def _known_as(text: str) -> Device | None:
    for decode in (base64_text.decode, base64_text.decode_url):
        try:
            device = Device.objects.filter(key=decode(text)).first()
        except base64_text.Base64Error:
            continue
        if device is not None:
            return device
    return Device.objects.filter(name=text).first()


def _among(column: str, values: Sequence[Any]) -> Iterator[Device]:
    for start in range(0, len(values), _BATCH):
        yield from Device.objects.filter(**{f"{column}__in": values[start : start + _BATCH]})


def _noted(name: str, pseudonym: bytes | None) -> Device | None:
    if pseudonym is None:
        return None
    return Device.objects.get_or_create(pseudonym=pseudonym, defaults={"name": name})[0]


def _require_none(faults: Sequence[str]) -> None:
    if faults:
        more = len(faults) - MOST_FAULTS
        rest = [f"and {more} more"] if more > 0 else []
        raise ListRefusedError("\n".join([*faults[:MOST_FAULTS], *rest]))


def _code() -> str:
    groups = ("".join(secrets.choice(_ALPHABET) for _ in range(_GROUP)) for _ in range(_GROUPS))
    return "-".join(groups)


def _digest(code: str, key: bytes = b"") -> bytes:
    # However people type it. JSON can spell what is no text: that is no code either.
    plain = "".join(code.upper().split()).replace("-", "").encode("ascii", "replace")
    return hashlib.sha256(plain + (b"\n" + key if key else b"")).digest()
