"""The mathematics and protocols of private collection. Pure: randomness, times and keys are arguments.

Nothing here imports Django, opens a socket, reads a clock or draws from a global source of randomness, and
nothing here knows of servers' databases, pages or settings. The rooms:

- `encryption`: rerandomizable public-key encryption, one file per scheme
- `mechanisms`, `shuffle`, `streams`: the statistics, by what carries their data; `catalogue` has them all
- `accounting`: what releases cost in privacy; `planning`: what a collection will give, before it is published
- `prio3`, `dap`, `two_server`: secret shares with proofs, the messages that carry them, and such shares under
  encryption
- `recipe`: the published document that ties these together; `servers`: whom it names

Nothing is imported here, so that a device loads only what its recipe needs.
"""

__all__ = [
    "accounting",
    "base64_text",
    "catalogue",
    "coarse",
    "dap",
    "discrete_laplace",
    "encryption",
    "errors",
    "estimate",
    "mechanisms",
    "parameters",
    "planning",
    "prio3",
    "recipe",
    "remedies",
    "servers",
    "shuffle",
    "simulation",
    "statistic",
    "streams",
    "trust",
    "two_server",
]
