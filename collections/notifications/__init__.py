"""Webhooks and e-mail about events, and public results as metrics: at least once, with a log of attempts.

Others call `operations` (subscribe, confirm, rotate, delete, test, send again) and `selectors`, use `kinds`
(event types), and read `models`. `api` is the REST API. The text of mails is not here: the setting `LETTERS`
names the module that has it.

It must not know pages. Messages about events have no number: recipes are named, and programs ask for more.
Numbers go to the operator's collector only.
"""

__all__ = ["kinds", "models", "operations", "selectors"]
