"""Where simulated devices, their events and values come from: CSV files, flights, random streams."""
