"""What `python -m devices_sim` offers, one file for each kind of command: its options, and what it does.

`options`, `log` and `rounds` are what several have in common.
"""
