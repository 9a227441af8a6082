"""Fleets of simulated devices: many reports per second, over the same API as real ones.

Without an intruder, a device cannot be told from one that only made its last state. A *lazy* fleet (the
default) computes just that state. An *eager* fleet takes every step of every device, as real ones do, and is
the reference.
"""

import contextlib
import functools
import hashlib
import random
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from devices_sim.attributes import FleetAttributes, require_given
from devices_sim.client import RecipeRefusedError, is_in_target
from devices_sim.fleet_devices import TrueAnswer
from devices_sim.fleet_result import FleetResult
from devices_sim.fleet_tokens import FleetToken, FleetTokens
from devices_sim.shuffler_upload import BATCH_FULL
from devices_sim.transport import (
    HttpTransport,
    RecipeNotOpenError,
    ServedRecipe,
    Transport,
    TransportError,
    WireReport,
)
from devices_sim.trust_models import reporting_model
from devices_sim.upload import Upload
from devices_sim.workers import WorkerError, processes_prepare, run_workers
from devices_sim.workloads.bucket import Bucket, Workload
from devices_sim.workloads.segments import checked_weights, in_segments
from panprivacy.parameters import Description
from panprivacy.recipe import PublishedRecipe

BATCH_BYTES = 8 * 1024 * 1024
PROCESSES = Description(label="Processes", help="Number of processes.", minimum=1, maximum=256)

TransportFactory = Callable[[], Transport]


class FleetError(Exception):
    """A fleet that could not deliver all its reports.

    Attributes:
        problem: the server's problem document, where it gave one, else empty.
    """

    def __init__(self, message: str, problem: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.problem = problem or {}


@dataclass(frozen=True, kw_only=True)
class FleetPlan:
    """All that a process needs to run its share. Picklable.

    Attributes are those of `run_fleet`.
    """

    served: ServedRecipe
    verification_key: bytes
    partner_key: bytes | None
    issuer_key: bytes | None
    transport_factory: TransportFactory
    seed: int | None
    weights: tuple[float, ...] | None
    attributes: FleetAttributes | None
    eager: bool

    def verified_recipe(self) -> PublishedRecipe:
        """The recipe; raises as `run_fleet` does."""
        recipe = self.served.verified(self.verification_key, self.partner_key, self.issuer_key)
        if not recipe.simulation:
            raise RecipeRefusedError("this recipe is for real devices, not for simulated ones")
        return recipe


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
    progress: Callable[[FleetResult], None] | None = None,
) -> FleetResult:
    """Let every device of a workload take part in a simulation recipe.

    Args:
        served: the recipe as fetched; verified here and again in every process.
        verification_key: the server's Ed25519 key, 32 bytes.
        partner_key: the helper's or the shuffler's; a recipe that has one is refused without it.
        issuer_key: that of the issuer of tokens, likewise. Each device is one of its own to the attester, by
            a fresh key: its attestation must be `trial`.
        workload: devices with their events (in no more steps than the recipe has), or with their values.
        transport: the server's address, or what makes a transport to it (picklable where
            `processes` > 1).
        seed: repeats the same coins and noise whatever the number of processes; None for
            `secrets.SystemRandom()`. For simulations only: the seed decrypts every report.
        weights: relative sizes of the recipe's segments, in their order, for devices whose own is not known;
            None spreads them evenly.
        attributes: what each device knows of itself, for a recipe with a target, and only there. Devices
            outside of it ask for their tokens all the same, and send nothing.
        eager: take every step instead of only the last state; for values it makes no difference.
        processes: 1 works in this process, and so does any number where all devices are in one bucket.
        progress: called in this process, after every bucket, with the result so far (not a copy).

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
    plan = FleetPlan(
        served=served,
        verification_key=verification_key,
        partner_key=partner_key,
        issuer_key=issuer_key,
        transport_factory=functools.partial(HttpTransport, transport)
        if isinstance(transport, str)
        else transport,
        seed=seed,
        weights=None if weights is None else tuple(weights),
        attributes=attributes,
        eager=eager,
    )
    recipe = plan.verified_recipe()
    checked_weights("weights", plan.weights, recipe.segments)
    require_given(attributes, has_target=recipe.target is not None)
    workload.require_fits(recipe)
    total = FleetResult()
    if _takes_processes(workload, processes):
        results = run_workers(functools.partial(run_share, plan), workload.buckets, processes)
    else:
        results = run_share(plan, workload.buckets)
    try:
        # Closed at once, not when the garbage is collected: that stops the processes.
        with contextlib.closing(results):
            for result in results:
                total.add(result)
                total.elapsed_seconds = time.monotonic() - started
                if progress is not None:
                    progress(total)
    except TransportError as error:
        raise FleetError(f"the reports could not be delivered: {error}", error.problem) from error
    except WorkerError as error:
        raise FleetError(str(error)) from error
    return total


def fleet_prepare(workload: Workload[Any], processes: int) -> None:
    """Let the processes of `run_fleet` load what they need while the caller does something else before."""
    if _takes_processes(workload, processes):
        processes_prepare()


def _takes_processes(workload: Workload[Any], processes: int) -> bool:
    return processes > 1 and len(workload.buckets) > 1


def run_share(plan: FleetPlan, buckets: Iterable[Bucket[Any]]) -> Generator[FleetResult, None, None]:
    """Work through buckets in this process; yields what was done since the last yield.

    Raises TransportError where a batch is not delivered.
    """
    recipe = plan.verified_recipe()
    with plan.transport_factory() as transport:
        yield from run_buckets(
            recipe,
            buckets,
            transport,
            verification_key=plan.verification_key,
            seed=plan.seed,
            weights=plan.weights,
            attributes=plan.attributes,
            eager=plan.eager,
        )


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
) -> Generator[FleetResult, None, None]:
    """Let the devices of some buckets report; yields what was done since the last yield.

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
    model = reporting_model(recipe)
    devices = model.fleet_devices(recipe, eager=eager)
    random_sources = _RandomSources(seed)
    way = model.way(recipe, transport, verification_key)
    with way, FleetTokens(recipe, transport) as tokens, model.upload(recipe, way) as upload:
        batcher = _Batcher(upload, sent_before)
        for bucket in in_segments(recipe, buckets, seed, weights):
            result = FleetResult()
            started = time.monotonic()
            submitting = batcher.seconds
            for name, given in bucket:
                result.devices += 1
                source = random_sources.of(name)
                token, came_late = _token(tokens, source, closes_when_full=model.closes_when_full)
                if not is_in_target(recipe, None if attributes is None else attributes.of(name)):
                    result.outside += 1
                    continue
                answer = devices.answer(given)
                result.devices_by_answer[answer] += 1
                if came_late:
                    result.sampled += 1
                    result.rejected[BATCH_FULL] += 1
                    continue
                report = devices.report(given, source, None if token is None else token.nonce)
                if report is not None:
                    result.sampled += 1
                    if recipe.round is not None:
                        result.took_part.add(name)
                    batcher.add(tokens.shown(report, token), answer, result)
            result.submit_seconds = batcher.seconds - submitting
            result.device_seconds = time.monotonic() - started - result.submit_seconds
            yield result
        if batcher.is_empty:
            return  # what was done has been told
        result = FleetResult()
        submitting = batcher.seconds
        batcher.flush(result)
        result.submit_seconds = batcher.seconds - submitting
        yield result


def _token(
    tokens: FleetTokens, source: random.Random, *, closes_when_full: bool
) -> tuple[FleetToken | None, bool]:
    """The device's token, and whether the recipe had all its users before: there is none then."""
    try:
        return tokens.obtained(source), False
    except RecipeNotOpenError:
        if not closes_when_full:
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

    def __init__(self, upload: Upload, sent_before: bool) -> None:
        self._upload = upload
        self._sent_before = sent_before
        self._reports: list[WireReport] = []
        self._answers: list[TrueAnswer] = []
        self._size = 0
        self.seconds = 0.0

    def add(self, report: WireReport, answer: TrueAnswer, result: FleetResult) -> None:
        size = report.size
        if self._reports and self._size + size > BATCH_BYTES:
            self.flush(result)
        self._reports.append(report)
        self._answers.append(answer)
        self._size += size
        if len(self._reports) == self._upload.batch_reports:
            self.flush(result)

    @property
    def is_empty(self) -> bool:
        return not self._reports

    def flush(self, result: FleetResult) -> None:
        if not self._reports:
            return
        started = time.monotonic()
        answered = self._upload.submit_batch(self._reports, sent_before=self._sent_before)
        self.seconds += time.monotonic() - started
        rejected = {rejection.index: rejection.reason for rejection in answered.rejected}
        result.accepted += answered.accepted
        result.rejected.update(rejected.values())
        result.accepted_by_answer.update(
            answer for index, answer in enumerate(self._answers) if index not in rejected
        )
        self._reports.clear()
        self._answers.clear()
        self._size = 0
