"""Pages of the audit log, for those who may read it: who did what. The public log has no actors."""
