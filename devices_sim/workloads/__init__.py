"""The sources of simulated devices, their events and values: CSV files, flights, random streams."""
