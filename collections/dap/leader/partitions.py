"""What is deleted with a leader's task, all at once: the reports that wait."""

from dap.partitions import OPEN, OVER
from storage.partitions import Partitioned, Table

WAITING = Partitioned(
    name="leader",
    owner="task_id",
    tables=(Table("leader_uploads", key="id", indexed=("job",)),),
    live=OPEN,
    over=OVER,
)
PARTITIONED = (WAITING,)
