"""Events out of OpenTelemetry: counters of its SDK are events of a recipe, and no metric leaves the device.

`PanPrivateReader` belongs to a `MeterProvider` of its own, whose counters are used as any. Other metrics stay
with another provider, whose exporters would send these counters in clear.
"""

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Event, RLock, Thread, current_thread

if find_spec("opentelemetry") is None:
    _needed = "panprivacy.device.opentelemetry needs opentelemetry-sdk: install panprivacy[otel]"
    raise ModuleNotFoundError(_needed, name="opentelemetry")

from opentelemetry.metrics import MeterProvider as AnyMeterProvider
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider, UpDownCounter

try:
    from opentelemetry.sdk.metrics import _Gauge
    from opentelemetry.sdk.metrics._internal.aggregation import _SumAggregation
except ImportError as error:
    raise ImportError("opentelemetry-sdk must be a version that panprivacy[otel] allows") from error

from opentelemetry.sdk.metrics.export import AggregationTemporality, MetricReader, MetricsData, Sum
from opentelemetry.util.types import Attributes

from panprivacy.device.algorithm import DeviceError, ParticipationOverError, WrongStepError
from panprivacy.device.client import Device
from panprivacy.device.storage import StateFileError, StateStore
from panprivacy.device.tokens import TokenLostError
from panprivacy.device.transport import RecipeClosedError, ReportRejectedError, TransportError
from panprivacy.formats.errors import FieldError

_logger = logging.getLogger(__name__)

# Their messages have public facts only.
_PUBLIC_ERRORS = (DeviceError, StateFileError, TransportError, OSError)
_ENDS = (ParticipationOverError, RecipeClosedError, ReportRejectedError, TokenLostError)
_MOST_PAUSE_POLLS = 64


class ReaderError(Exception):
    """A step was not taken, or a report was not delivered. The message depends on public facts only. There is
    neither cause nor context: their tracebacks would hold events."""


@dataclass(frozen=True, kw_only=True)
class CounterEvent:
    """An event happens in a time step if a counter grew in it, by any amount.

    Attributes:
        counter: the counter's name, in upper or lower case; if a View renames it, the View's.
        event: the name of an event of the recipe; None if the recipe has one only.
        attributes: amounts count if they were added with these attributes, and with any others. A View must
            keep them. The SDK forgets the attributes of some amounts if there are more than 2,000
            combinations between two polls.

    Raises:
        FieldError: `counter` is no name of an instrument, or an attribute is no text, truth value or number.
    """

    counter: str
    event: str | None = None
    attributes: Mapping[str, str | bool | int | float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # OpenTelemetry's specification of the metrics API, "Instrument name syntax".
        if not re.fullmatch(r"[a-zA-Z][-_./a-zA-Z0-9]{0,254}", self.counter):
            allowed = "a letter, then up to 254 letters, digits, '_', '.', '-' or '/'"
            raise FieldError("counter", f"must be {allowed}, not {self.counter!r}")
        if not all(isinstance(value, str | bool | int | float) for value in self.attributes.values()):
            raise FieldError("attributes", "must be text, truth values or numbers")

    def is_counter(self, name: str) -> bool:
        """Whether it is about the counter of this name."""
        return name.lower() == self.counter.lower()

    def fits(self, attributes: Attributes) -> bool:
        """Whether an amount with these attributes counts. As in OpenTelemetry, 1 is not True."""
        given = attributes or {}
        return all(
            name in given and (type(given[name]), given[name]) == (type(value), value)
            for name, value in self.attributes.items()
        )


class PanPrivateReader(MetricReader):
    """Takes the time steps of a device that has joined, with the events that counters show.

    A thread polls the clock. Each poll empties the counters: they have delta temporality, so the SDK adds up
    nothing over polls. One bit for each event of the recipe waits in memory for the end of the time step.
    Then the device takes the step, with events or without: the SDK hands over no empty collections, so an
    exporter could not. After a pause, the first of the missed steps has the events that waited.

    Each poll also makes the SDK prepare every instrument for use. It would otherwise do so at the first use,
    and its memory would show which counters have ever been used. A named instrument that cannot be an event
    is refused then, used or not. A `MeterProvider` with another reader, or that `OTEL_SDK_DISABLED` disables,
    is refused when it is made.

    Args:
        location: the state of a device that has joined (`Device.join`). It is open during steps only, so that
            `view`, `token` and `leave` work in between.
        events: what counts; all other metrics are discarded.
        deliver: called with the device after the last step until it returns, usually
            `lambda device: device.send(transport)`; after failures at every second, fourth, … at most every
            64th poll. None leaves delivery to the application.
        poll_seconds: 1 to 3,600; polls are at least as frequent as steps. An event up to a poll later than
            the end of a step still counts in it.

    Raises:
        FieldError: no events, an event that the recipe does not have, or `poll_seconds` is out of range.
        WrongStepError: devices take no steps in this recipe.
        NotJoinedError, ForeignStateError, DamagedStateError, StateFileBusyError: as `Device.open`. A device
            that is done raises nothing: the reader only empties counters.
    """

    def __init__(
        self,
        location: Path | StateStore,
        events: Sequence[CounterEvent],
        *,
        deliver: Callable[[Device], object] | None = None,
        poll_seconds: float = 30.0,
    ) -> None:
        # Not for observable instruments: the SDK would keep their last totals to compute deltas.
        emptied = (Counter, UpDownCounter, Histogram, _Gauge)
        super().__init__(preferred_temporality=dict.fromkeys(emptied, AggregationTemporality.DELTA))
        if not events:
            raise FieldError("events", "must name at least one counter")
        if not 1 <= poll_seconds <= 3600:
            raise FieldError("poll_seconds", f"must be from 1 to 3,600, not {poll_seconds}")
        self._location = location
        self._deliver = deliver
        self._bits: list[tuple[CounterEvent, int]] = []
        self._happened = self._taken = self._steps = self._failures = self._pause = 0
        self._opens_at, self._step = datetime.max.replace(tzinfo=UTC), timedelta(seconds=poll_seconds)
        self._ended = False
        try:
            with Device.open(location) as device:
                self._bits = [(event, device.bit_of(event.event)) for event in events]
                recipe, self._taken = device.recipe, device.steps_taken
                if recipe.step_seconds is None:
                    raise WrongStepError("devices take no steps in this recipe: they send one value")
                self._steps = recipe.parameters.step_count
                self._opens_at, self._step = recipe.opens_at, timedelta(seconds=recipe.step_seconds)
        except ParticipationOverError:
            self._ended = True
        self._poll_seconds = min(poll_seconds, self._step.total_seconds())
        self._provider: MeterProvider | None = None
        self._process = os.getpid()
        self._lock = RLock()
        self._stopping = Event()
        self._thread = Thread(target=self._poll, name="PanPrivateReader", daemon=True)

    def take_steps(self, *, now: datetime | None = None) -> None:
        """Do what the thread does at each poll: empty the counters, and take all steps that are over.

        Args:
            now: the time, by default the clock's.

        Raises:
            FieldError: `metric_readers`, if this reader is not the provider's only one, or `events`, if a
                named instrument is no counter or a View changes what it adds up. Then counters are emptied,
                and no step is taken.
            ReaderError: a step was not taken: its events wait if the state could not be opened, and are lost
                if it could not be written. Or the report was not delivered. The next call tries again.
        """
        self._advance(now, ahead=0)

    def force_flush(self, timeout_millis: float = 10_000) -> bool:  # noqa: ARG002  # the SDK's signature
        """As `take_steps`: what has happened in a step waits for its end."""
        self.take_steps()
        return True

    def shutdown(self, timeout_millis: float = 30_000, **_: object) -> None:
        """End the thread, and take the current step too, with events or without. What happens later in this
        step counts in the next one if the reader is made anew. Errors are logged.

        Args:
            timeout_millis: how long to wait for the thread, which may be delivering a report. If it does not
                end, the step is not taken.
        """
        if os.getpid() != self._process:
            return
        if self._stopping.is_set():
            _logger.warning("the reader has been shut down already")
            return
        self._stopping.set()
        if self._thread.is_alive() and self._thread is not current_thread():
            self._thread.join(timeout_millis / 1000)
        if self._thread.is_alive() and self._thread is not current_thread():
            _logger.error("the current step was not taken: the reader is still busy")
        else:
            self._attempt(ahead=1)
        # Counters can be used after a shutdown. Their sums would stay.
        consumer = None if self._provider is None else self._provider._measurement_consumer
        if consumer is not None and self in consumer._reader_storages:
            consumer.remove_metric_reader(self)

    def _set_meter_provider(self, meter_provider: AnyMeterProvider) -> None:
        super()._set_meter_provider(meter_provider)
        if isinstance(meter_provider, MeterProvider):
            self._provider = meter_provider
        if (refusal := self._refusal()) is not None:
            raise refusal
        self._thread.start()

    def _receive_metrics(self, metrics_data: MetricsData, *_: object, **__: object) -> None:
        scopes = (scope for resource in metrics_data.resource_metrics for scope in resource.scope_metrics)
        for metric in (metric for scope in scopes for metric in scope.metrics):
            for point in metric.data.data_points if isinstance(metric.data, Sum) else ():
                for event, bit in self._bits:
                    if point.value > 0 and event.is_counter(metric.name) and event.fits(point.attributes):
                        with self._lock:
                            self._happened |= bit

    def _poll(self) -> None:
        while not self._stopping.wait(self._poll_seconds):
            self._attempt(ahead=0)

    def _attempt(self, *, ahead: int) -> None:
        try:
            self._advance(None, ahead=ahead)
        except (FieldError, ReaderError) as error:
            _logger.error("%s", error)

    def _advance(self, now: datetime | None, *, ahead: int) -> None:
        """As `take_steps`, and `ahead` (0 or 1) steps that are not over."""
        # A forked process has a copy of the counts. The steps are its parent's.
        if os.getpid() != self._process:
            return
        with self._lock:
            refusal, failure = self._refusal(), self._failure(self.collect)
            # Exact, and −1 or less ahead of the opening.
            over = ((datetime.now(UTC) if now is None else now) - self._opens_at) // self._step
            if refusal is not None or over < 0 or self._ended or self._taken == self._steps:
                self._happened = 0
            if refusal is None and not self._ended and over >= 0:
                failure = self._failure(partial(self._take, min(over + ahead, self._steps))) or failure
                failure = self._failure(partial(self._send, over)) or failure
        if refusal is not None:
            raise refusal
        if failure:
            raise ReaderError(failure)

    def _take(self, due: int) -> None:
        if due <= self._taken:
            return
        with Device.open(self._location) as device:
            happened, self._happened = self._happened, 0
            following = device.steps_taken + 1
            if following <= due:
                device.step(happened, number=following)
                device.catch_up(due)
            self._taken = device.steps_taken

    def _send(self, over: int) -> None:
        if self._deliver is None or self._ended or min(over, self._taken) < self._steps:
            return
        if self._pause:
            self._pause -= 1
            return
        self._failures += 1
        self._pause = min(2**self._failures, _MOST_PAUSE_POLLS) - 1
        with Device.open(self._location) as device:
            self._deliver(device)
        self._ended = True

    def _failure(self, action: Callable[[], object]) -> str:
        """Why an action failed; empty if it did not. The error itself, whose traceback may hold events, is
        dropped."""
        try:
            action()
        except _PUBLIC_ERRORS as error:
            self._ended = self._ended or isinstance(error, _ENDS)
            return f"{type(error).__name__}: {error}"
        except Exception as error:
            return type(error).__name__
        return ""

    def _refusal(self) -> FieldError | None:
        """Why counters cannot be events; None if they can. Prepares all instruments for use."""
        try:
            storages = self._provider._measurement_consumer._reader_storages if self._provider else {}
            if self._provider is None or list(storages) != [self]:
                return FieldError("metric_readers", "must be this reader alone, given to its MeterProvider")
            if self._provider._disabled:
                return FieldError("OTEL_SDK_DISABLED", "must not be true: the SDK would count no event")
            for meter in list(self._provider._meters.values()):
                for instrument in list(meter._instrument_id_instrument.values()):
                    for stream in storages[self]._get_or_init_view_instrument_match(instrument):
                        is_sum = isinstance(stream._aggregation, _SumAggregation)
                        named = any(event.is_counter(stream._name) for event, _ in self._bits)
                        if named and not (is_sum and isinstance(instrument, Counter)):
                            found = f"{stream._name} is a {type(instrument).__name__.strip('_')}"
                            found += "" if is_sum else " that does not add up"
                            return FieldError("events", f"must name counters that add up; {found}")
        except AttributeError:
            return FieldError("opentelemetry-sdk", "must be a version that panprivacy[otel] allows")
        return None
