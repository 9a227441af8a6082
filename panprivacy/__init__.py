"""The mathematics and protocols of private collection, and a device that takes part in it.

All but `device` is pure: randomness, times and keys are arguments. Only `device`, and commands, may open
connections, read clocks and draw from the operating system's randomness. Nothing here knows Django, nor
servers' databases, pages or settings. From below:

- `formats`: bytes as text, canonical JSON, TLS messages, times, tables, values with ranges and errors
- `encryption`: rerandomizable public-key encryption, one file per scheme
- `protocols`: Prio3, DAP, Privacy Pass, oblivious HTTP and PRF, transparency logs, encrypted shares
- `accounting`: what releases cost in privacy
- `statistics`: what is computed, by what carries the data; `catalogue` has all, `trust_models` the servers,
  `intervals` where a truth may lie, by exact tests
- `planning`: what to expect of an unpublished collection
- `recipe`: the signed document that ties these together, its rounds, targets, tokens and checks of the log
- `device`: what takes part in recipes of a site, over its public API
- `recompute`: checks a result from its bundle

Nothing is imported here, so that a device loads only what its recipe needs.
"""

__all__ = [
    "accounting",
    "device",
    "encryption",
    "formats",
    "planning",
    "protocols",
    "recipe",
    "recompute",
    "statistics",
]
