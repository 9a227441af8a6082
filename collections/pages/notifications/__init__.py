"""Notifications of an account: webhooks, e-mail, and the log of what was sent."""
