"""The messages of DAP draft 18, how they are sealed, and how requests are signed. No network, no clock.

Messages are in `basics`, `task`, `upload`, `aggregation` and `collection`; `formats.tls_messages` encodes
them. `client` makes reports, and `hpke` seals and opens shares. `media` names media and problem types,
`signatures` signs requests and responses, and `vdafs` selects a task's VDAF.
"""
