"""How long tests wait for other processes and threads."""

PATIENCE = 240.0
"""Seconds, far more than a busy machine needs. What comes earlier is not waited for any longer, and a test
that gives up too early tells of the machine, not of the product."""
