"""The mathematics of private collection: encryption, mechanisms, accounting.

Pure Python. Nothing here imports Django, opens a socket, reads a clock or draws
from a global source of randomness: randomness, times and keys are arguments.
"""
