"""The commands of `python -m devices_sim`, one file for each group: their options and actions.

`options`, `log` and `rounds` are shared by several commands.
"""
