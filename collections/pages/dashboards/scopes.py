"""What API tokens may be for, of dashboards."""

from pages.dashboards.access import may_read
from recipes.access import may_publish
from web.scopes import scope_declare

DASHBOARDS_READ = scope_declare("dashboards:read", "Read dashboards", may=may_read)
DASHBOARDS_WRITE = scope_declare(
    "dashboards:write", "Make, change and delete dashboards", may=may_publish, includes=(DASHBOARDS_READ,)
)
