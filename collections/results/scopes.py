"""What API tokens may be for, of results. Reading them needs none."""

from ledger.access import may_change_populations
from log.audit.access import may_read_log
from web.scopes import scope_declare

RESULTS_ALLOW = scope_declare("results:allow", "Let held results pass", may=may_change_populations)
VERDICTS_WRITE = scope_declare("verdicts:write", "File verdicts on recomputed results", may=may_read_log)
