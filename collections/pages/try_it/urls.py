from django.urls import path

from pages.try_it.views import IntruderView, TryItView, TryView

urlpatterns = [
    path("try/", TryItView.as_view(), name="try-it"),
    path("try/intruder/", IntruderView.as_view(), name="try-intruder"),
    path("try/<identifier:identifier>/", TryView.as_view(), name="try"),
]
