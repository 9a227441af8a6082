"""The messages of DAP draft 18, how they are sealed, and how requests are signed. No network, no clock."""
