"""What is deleted with a helper's task, all at once: the answers to its jobs, which name every report."""

from dap.partitions import OPEN, OVER
from storage.partitions import Partitioned, Table

ANSWERS = Partitioned(
    name="helper",
    owner="task_id",
    tables=(Table("helper_aggregationjob", key="resource_id"),),
    live=OPEN,
    over=OVER,
)
PARTITIONED = (ANSWERS,)
