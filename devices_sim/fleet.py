"""Fleets of simulated devices: many reports per second, over the same API as real ones.

Without an intruder, a device looks like one that only made its last state. A *lazy* fleet (the default)
computes just that state. An *eager* fleet takes every step of every device, as real ones do, and is the
reference.
"""

import functools
import hashlib
import random
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from devices_sim.devices import simulated_class
from devices_sim.devices.interface import TrueAnswer
from devices_sim.fleet_attributes import FleetAttributes, require_attributes
from devices_sim.fleet_result import FleetResult
from devices_sim.fleet_tokens import FleetTokens
from devices_sim.workers import WorkerError, run_workers
from devices_sim.workloads.bucket import Bucket, Workload
from devices_sim.workloads.segments import checked_weights, in_segments
from panprivacy.device.client import RecipeRefusedError, is_in_target
from panprivacy.device.shuffler_upload import BATCH_FULL
from panprivacy.device.tokens import TokenState
from panprivacy.device.transport import (
    HttpTransport,
    RecipeNotOpenError,
    ServedRecipe,
    Transport,
    TransportError,
    WireReport,
)
from panprivacy.device.trust_models import report_path
from panprivacy.device.upload import Upload
from panprivacy.formats.parameters import Description
from panprivacy.recipe.document import PublishedRecipe

BATCH_BYTES = 8 * 1024 * 1024
PROCESSES = Description(label="Processes", help="Number of processes.", minimum=1, maximum=256)

TransportFactory = Callable[[], Transport]


class FleetError(Exception):
    """A fleet that could not deliver all its reports.

    Attributes:
        problem: the server's problem document, if it gave one, else empty.
    """

    def __init__(self, message: str, problem: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.problem = problem or {}


def run_fleet(
    *,
    served: ServedRecipe,
    verification_key: bytes,
    partner_key: bytes | None = None,
    issuer_key: bytes | None = None,
    workload: Workload[Any],
    transport: str | TransportFactory,
    seed: int | None = None,
    weights: Sequence[float] | None = None,
    attributes: FleetAttributes | None = None,
    eager: bool = False,
    processes: int = 1,
) -> FleetResult:
    """Let every device of a workload take part in a simulation recipe.

    Args:
        served: the recipe as fetched.
        verification_key: the server's Ed25519 key, 32 bytes.
        partner_key: the helper's or the shuffler's; a recipe that has one is refused without it.
        issuer_key: that of the issuer of tokens, likewise. Each device is one of its own to the attester, by
            a fresh key: its attestation must be `trial`.
        workload: devices with their events (in no more steps than the recipe has), or with their values.
        transport: the server's address, or what makes a transport to it (picklable if
            `processes` > 1).
        seed: repeats the same coins and noise whatever the number of processes; None for
            `secrets.SystemRandom()`. For simulations only: the seed decrypts every report.
        weights: relative sizes of the recipe's segments, in their order, for devices whose own is not known;
            None spreads them evenly.
        attributes: what each device knows of itself, for a recipe with a target, and only there. Devices
            outside of it ask for their tokens all the same, and send nothing.
        eager: take every step instead of only the last state; for values it makes no difference.
        processes: 1 works in this process, and so does any number if all devices are in one bucket.

    Returns:
        the result; reports that the server rejected one by one are counted there.

    Raises:
        RecipeVerificationError: identifier or a signature does not hold.
        RecipeRefusedError: not a recipe for simulations.
        FieldError: `processes`, `weights`, `attributes`, a workload that is not for the recipe, or a recipe
            that does not keep its promise.
        FleetError: the server refused a batch or could not be reached, or a process failed. The
            other processes have been stopped; what was accepted stays accepted.
    """
    processes = PROCESSES.check("processes", int, processes)
    started = time.monotonic()
    recipe = served.verified(verification_key, partner_key, issuer_key)
    if not recipe.simulation:
        raise RecipeRefusedError("this recipe is for real devices, not for simulated ones")
    checked = None if weights is None else tuple(weights)
    checked_weights("weights", checked, recipe.segments)
    require_attributes(attributes, has_target=recipe.target is not None)
    workload.require_fits(recipe)
    share = functools.partial(
        _run_share,
        recipe,
        functools.partial(HttpTransport, transport) if isinstance(transport, str) else transport,
        verification_key=verification_key,
        seed=seed,
        weights=checked,
        attributes=attributes,
        eager=eager,
    )
    total = FleetResult()
    try:
        if processes > 1 and len(workload.buckets) > 1:
            for result in run_workers(share, workload.buckets, processes):
                total.add(result)
        else:
            total.add(share(workload.buckets))
    except TransportError as error:
        raise FleetError(f"the reports could not be delivered: {error}", error.problem) from error
    except WorkerError as error:
        raise FleetError(str(error)) from error
    total.elapsed_seconds = time.monotonic() - started
    return total


def _run_share(
    recipe: PublishedRecipe,
    transport_factory: TransportFactory,
    buckets: Iterable[Bucket[Any]],
    **options: Any,
) -> FleetResult:
    """`run_buckets` over a transport of its own."""
    with transport_factory() as transport:
        return run_buckets(recipe, buckets, transport, **options)


def run_buckets(
    recipe: PublishedRecipe,
    buckets: Iterable[Bucket[Any]],
    transport: Transport,
    *,
    verification_key: bytes,
    seed: int | None,
    weights: tuple[float, ...] | None = None,
    attributes: FleetAttributes | None = None,
    eager: bool = False,
    sent_before: bool = False,
) -> FleetResult:
    """Let the devices of some buckets report.

    With a seed, the same bucket gives the same reports, nonces included. Sent again, each counts once.

    Args:
        recipe: verified, for simulations.
        transport: to the server that published it; stays open.
        verification_key: of that server, 32 bytes.
        seed, eager: as of `run_fleet`.
        weights: likewise, by `checked_weights`.
        attributes: likewise.
        sent_before: an attempt that broke off may have sent the same reports. What is there already counts
            as accepted.

    Raises:
        TransportError: a batch was not delivered.
    """
    simulated, result = simulated_class(recipe)(recipe.calibrated_statistic), FleetResult()
    devices = simulated.eager_fleet(recipe) if eager else simulated.fleet(recipe)
    random_sources = _RandomSources(seed)
    path = report_path(recipe, verification_key)
    servers = path.transport(transport)
    started = time.monotonic()
    with servers, FleetTokens(recipe, transport) as tokens, path.upload(servers) as upload:
        batcher = _Batcher(upload, result, sent_before)
        for name, device_data in chain.from_iterable(in_segments(recipe, buckets, seed, weights)):
            result.devices += 1
            source = random_sources.of(name)
            token, came_late = _token(tokens, source, has_one_cohort=simulated.has_one_cohort)
            if not is_in_target(recipe, None if attributes is None else attributes.of(name)):
                result.outside += 1
                continue
            answer = devices.answer(device_data)
            result.devices_by_answer[answer] += 1
            if came_late:
                result.sampled += 1
                result.rejected[BATCH_FULL] += 1
                continue
            report = devices.report(device_data, source, None if token is None else token.report_nonce)
            if report is not None:
                result.sampled += 1
                if recipe.round is not None:
                    result.took_part.add(name)
                batcher.add(report if token is None else token.shown(report), answer)
        batcher.flush()
    result.device_seconds = time.monotonic() - started - result.submit_seconds
    return result


def _token(
    tokens: FleetTokens, source: random.Random, *, has_one_cohort: bool
) -> tuple[TokenState | None, bool]:
    """The device's token, and whether the recipe had all its users before: there is none then."""
    try:
        return tokens.obtained(source), False
    except RecipeNotOpenError:
        if not has_one_cohort:
            raise
        return None, True


class _RandomSources:
    """One source for every device; seeded ones depend on the seed and the device's name only."""

    def __init__(self, seed: int | None) -> None:
        self._key = None if seed is None else hashlib.blake2b(str(seed).encode(), digest_size=32).digest()
        self._source = (
            secrets.SystemRandom() if seed is None else random.Random()  # noqa: S311  # seeded simulation
        )

    def of(self, device: str) -> random.Random:
        """The device's source, valid until the next call."""
        if self._key is not None:
            digest = hashlib.blake2b(device.encode(), key=self._key, digest_size=32).digest()
            self._source.seed(int.from_bytes(digest, "big"))
        return self._source


class _Batcher:
    """Collects reports, each with what is true of its device, and submits them in batches."""

    def __init__(self, upload: Upload, result: FleetResult, sent_before: bool) -> None:
        self._upload = upload
        self._result = result
        self._sent_before = sent_before
        self._reports: list[WireReport] = []
        self._answers: list[TrueAnswer] = []
        self._size = 0

    def add(self, report: WireReport, answer: TrueAnswer) -> None:
        size = report.size
        if self._size + size > BATCH_BYTES:
            self.flush()
        self._reports.append(report)
        self._answers.append(answer)
        self._size += size
        if len(self._reports) == self._upload.batch_reports:
            self.flush()

    def flush(self) -> None:
        if not self._reports:
            return
        started, result = time.monotonic(), self._result
        answered = self._upload.submit_batch(self._reports, sent_before=self._sent_before)
        result.submit_seconds += time.monotonic() - started
        rejected = {rejection.index: rejection.reason for rejection in answered.rejected}
        result.accepted += answered.accepted
        result.rejected.update(rejected.values())
        result.accepted_by_answer.update(
            answer for index, answer in enumerate(self._answers) if index not in rejected
        )
        self._reports.clear()
        self._answers.clear()
        self._size = 0
