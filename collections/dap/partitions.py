"""What is deleted with a task, all at once: the identifiers of its reports."""

from storage.partitions import Partitioned, Table

OPEN = "EXISTS (SELECT 1 FROM dap_task WHERE id = {owner} AND state <> 'ended')"
OVER = "EXISTS (SELECT 1 FROM dap_task WHERE id = {owner} AND state = 'ended')"

IDENTIFIERS = Partitioned(
    name="dap",
    owner="task_id",
    tables=(Table("dap_aggregatedreport", key="report_id"),),
    live=OPEN,
    over=OVER,
)
PARTITIONED = (IDENTIFIERS,)
