"""Where simulated devices, their events and values come from: CSV files, flights, random streams."""

from devices_sim.workloads.bucket import Bucket, EventWorkload, ListedBucket, Stream, ValueWorkload, Workload
from devices_sim.workloads.events_file import events_csv
from devices_sim.workloads.flights import flights
from devices_sim.workloads.synthetic import bernoulli, poisson
from devices_sim.workloads.values_file import values_csv

__all__ = [
    "Bucket",
    "EventWorkload",
    "ListedBucket",
    "Stream",
    "ValueWorkload",
    "Workload",
    "bernoulli",
    "events_csv",
    "flights",
    "poisson",
    "values_csv",
]
