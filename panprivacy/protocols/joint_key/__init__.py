"""One encrypted bit under the joint key of two servers, with a proof that needs no secret to check.

`groups` has BLS12-381's groups as bytes and scalars; `keys` the key and the common strings, made of two
halves with proofs; `proven_bits` the encrypted bit, its proof, and their rerandomization; `public_key` the
same for devices; `sums` the count, which both servers decrypt in parts with proofs. Not post-quantum, and
not in constant time: see `groups`.

Experimental: its proof of security has had no outside review.

Sources: Groth and Sahai, Efficient Noninteractive Proof Systems for Bilinear Groups (SIAM J. Comput. 2012),
section 9 (SXDH); Belenkiy, Camenisch, Chase, Kohlweiss, Lysyanskaya, Shacham, Randomizable Proofs and
Delegatable Anonymous Credentials (CRYPTO 2009), section 3.
"""

__all__ = ["groups", "keys", "proven_bits", "public_key", "sums"]
