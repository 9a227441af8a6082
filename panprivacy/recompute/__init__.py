"""The result of a recipe with a joint key, recomputed from its bundle by any reader, offline.

`bundle` reads and writes bundles. `checks` has what is checked, in order; `reports` the part that takes long.
`python -m panprivacy.recompute DIR` is the command. Experimental, as the trust model is.
"""
