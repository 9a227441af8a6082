"""The second factor of an account: codes of an app (TOTP), and recovery codes.

Others call `operations` and `selectors`, and `codes` to show a secret. Passwords, sessions and the throttle
by address are the pages' and Django's.

It must not know what an account may do, nor which page asks for a code.
"""

__all__ = ["codes", "operations", "selectors"]
