"""The API's documentation page."""

from drf_spectacular.views import SpectacularSwaggerSplitView


class ApiDocsView(SpectacularSwaggerSplitView):
    """Swagger UI from our own files; its start-up script is a request of its own, as our CSP asks."""

    template_name = "api_docs.html"
