"""Reports of one recipe as objects of a store, and their sum shard by shard, on any number of machines.

- `segments`: an object written when reports come, in their order of arrival
- `sorted_segment`: many of them as one object, sorted by shard, with an index at its end
- `manifest`: all objects of a recipe with their hashes, sealed when it is closed. `shard_slices` reads from
  them what belongs to one shard, and checks every byte
- `shard_sum`: the sum over one shard: a pure function, which any engine may run

A report is a *record* here: a key of 16 bytes, then its ciphertexts. Of reports with the same key one counts.
"""
