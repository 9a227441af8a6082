"""What somebody is told of: webhooks, e-mail, and the log of what was sent."""
