"""The log: its entries (`audit`), and the public tree over them (`public_log`)."""
