"""Recipes whose reports no server decrypts: `leader` on the site that publishes them, `helper` on the other
server.

Each makes half of a recipe's key. Both check every report, sign the list of accepted ones, and decrypt the
sum of its ciphertexts in parts. The algorithms are in `panprivacy.protocols.joint_key`, the list in
`panprivacy.recipe.accepted_list`.
"""
