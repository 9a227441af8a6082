"""Django's PostgreSQL for web processes, whose pool gets over a restart of the database at once."""
