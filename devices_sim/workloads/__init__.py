"""Where simulated devices and their events come from: CSV files, flights, random streams."""

from devices_sim.workloads.bucket import Bucket, ListedBucket, Stream, Workload
from devices_sim.workloads.csv_file import events_csv
from devices_sim.workloads.flights import flights
from devices_sim.workloads.synthetic import bernoulli, poisson

__all__ = ["Bucket", "ListedBucket", "Stream", "Workload", "bernoulli", "events_csv", "flights", "poisson"]
