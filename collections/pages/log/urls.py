from django.urls import path, re_path

from pages.log.views import CheckView, EntryView, ExportView, LogView

urlpatterns = [
    path("audit/", LogView.as_view(), name="audit"),
    path("audit/check/", CheckView.as_view(), name="audit-check"),
    path("audit/<int:index>/", EntryView.as_view(), name="audit-entry"),
    re_path(r"^audit/export\.(?P<form>csv|json)$", ExportView.as_view(), name="audit-export"),
]
