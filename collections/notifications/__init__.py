"""Telling people and programs what happened: webhooks and e-mail, each at least once, and a log of attempts.

Others call `operations` (subscribe, confirm, rotate, delete, test, send again) and `selectors`, use `kinds`
(what there is to tell), and read `models`. `api` is the REST API. What a mail says is not here: the setting
`LETTERS` names a module with words.

It must not know pages. What it sends has no number: recipes are named, and programs ask for more.
"""

__all__ = ["kinds", "models", "operations", "selectors"]
