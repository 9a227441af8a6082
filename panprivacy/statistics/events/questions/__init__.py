"""Five questions about the order and the times of events, and a table for experts: one file each.

The parameters name events and times, and compile to a `Question` about an automaton's states.
"""
