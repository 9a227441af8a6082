"""The commands of a device, one file for each group: their options and actions.

`options`, `log` and `rounds` are shared by several commands. `command_line` puts them together.
"""
