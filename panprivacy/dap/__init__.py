"""The messages of DAP draft 18, how they are sealed, and how requests are signed. No network, no clock.

Messages stand in `basics`, `task`, `upload`, `aggregation` and `collection`; `panprivacy.tls_messages`
encodes them. Beside them: `client` makes reports, `hpke` seals shares and opens them (`our_suite` those that
are sealed to us), `media` names media and problem types, `signatures` signs requests and responses, `vdafs`
knows which VDAF a task runs, and `recipe_task`, which alone knows of recipes, makes a recipe's task.
"""
