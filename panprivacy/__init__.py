"""The mathematics and protocols of private collection. Pure: randomness, times and keys are arguments.

It must not know Django, sockets, clocks or a global source of randomness, nor servers' databases, pages or
settings.

Its parts:

- `encryption`: rerandomizable public-key encryption, one file per scheme
- `mechanisms`, `randomizers`, `shuffle`, `streams`: the statistics, by what carries their data; `catalogue`
  has them all
- `bounds`: where a truth may lie, by exact tests
- `accounting`: what releases cost in privacy; `planning`: what a collection will give, before it is published
- `prio3`, `dap`, `two_server`: secret shares with proofs, the messages that carry them, and such shares under
  encryption; `tls_messages` says how messages become bytes
- `privacy_pass`: tokens that say that somebody may take part, and not who
- `attestation`: how a device shows which one it is; `ed25519`: which keys and signatures of others are taken;
  `signed_count`, `signed_documents`, `signed_result`: what servers sign
- `rate_validation`: whether so many reports can have come from so many tokens
- `transparency`: logs that everybody can check: Merkle trees, signed checkpoints, witnesses
- `oblivious_http`: requests of which nobody sees both the sender and the content
- `oblivious_prf`: names that two parties make together, and neither alone; `secp256k1` is its curve
- `statistic`, `device_input`, `parameters`, `estimate`: what every statistic says of itself, of what it is,
  and what it makes of that; `recipe_statistic`: that of a recipe; `segment_estimates`: the answer in each
  part of a population; `difference`: whether results differ by more than noise; `robustness`: how far devices
  that send what they like move one; `coarse`: counts in steps
- `recipe_draft`: a recipe before it is published; `recipe_members`: what files and documents have; `limits`:
  how far a recipe may go; `trust`: the names of the trust models; `remedies`: what would keep a limit
- `recipe`: the published document that ties these together; `asked_event`, `asked_segments`,
  `asked_admission`, `asked_target`, `asked_hidden_count`, `recipe_plan`: what it counts, in which parts of
  the population, who may report, who is asked, whether their number is hidden, and what is expected of it;
  `targeting` says how many devices that are; `trust_models`: whom it names, one file each
- `rounds`: a recipe that is asked many times under one budget; `asked_round`: which of these times one is;
  `series` and `repetition`: when rounds open, and what all ways of repeating have in common
- `report_shards`: reports as objects of a store, and their sum shard by shard, on any number of machines;
  `replacing` draws what stands in for invalid ones
- `token_request`: what asks for a token of a recipe; `admission`: whether a token is one of a recipe;
  `request_bytes`: how long requests with reports are
- `discrete_laplace`: exact noise; `simulation`: seeded randomness, which protects nobody
- `errors`, `shown`, `lines`, `csv_table`, `times`, `base64_text`, `json_objects`, `vector_files`: errors for
  people, numbers in sentences, texts, tables and lists that people hand in, times, bytes as text, JSON, and
  files of test vectors; `console`: how commands end

Nothing is imported here, so that a device loads only what its recipe needs.
"""

__all__ = [
    "accounting",
    "admission",
    "asked_admission",
    "asked_event",
    "asked_hidden_count",
    "asked_round",
    "asked_segments",
    "asked_target",
    "attestation",
    "base64_text",
    "bounds",
    "catalogue",
    "coarse",
    "console",
    "csv_table",
    "dap",
    "device_input",
    "difference",
    "discrete_laplace",
    "ed25519",
    "encryption",
    "errors",
    "estimate",
    "json_objects",
    "limits",
    "lines",
    "mechanisms",
    "oblivious_http",
    "oblivious_prf",
    "parameters",
    "planning",
    "prio3",
    "privacy_pass",
    "randomizers",
    "rate_validation",
    "recipe",
    "recipe_draft",
    "recipe_members",
    "recipe_plan",
    "recipe_statistic",
    "remedies",
    "repetition",
    "replacing",
    "report_shards",
    "request_bytes",
    "robustness",
    "rounds",
    "secp256k1",
    "segment_estimates",
    "series",
    "shown",
    "shuffle",
    "signed_count",
    "signed_documents",
    "signed_result",
    "simulation",
    "statistic",
    "streams",
    "targeting",
    "times",
    "tls_messages",
    "token_request",
    "transparency",
    "trust",
    "trust_models",
    "two_server",
    "vector_files",
]
