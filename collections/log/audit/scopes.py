"""What API tokens may be for, of the log."""

from log.audit.access import may_read_log
from web.scopes import scope_declare

LOG_READ = scope_declare("log:read", "Read the whole audit log", may=may_read_log)
