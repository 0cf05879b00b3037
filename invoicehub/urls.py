"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path

from invoicehub import health
from invoicehub.metrics import metrics
from invoicehub.signing_in import LogInView
from invoicehub.throttling import throttled

urlpatterns = [
    path("", include("invoices.urls")),
    path("", include("deliveries.urls")),
    path("login", throttled(LogInView.as_view()), name="login"),
    path("logout", LogoutView.as_view(), name="logout"),
    path("", include("invoicehub.second_step.urls")),
    # Before the admin's own addresses, and by its name: its login form takes passwords too.
    path("admin/login/", throttled(admin.site.login), name="admin_login"),
    path("admin/", admin.site.urls),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]

handler400 = "invoicehub.failures.bad_request"
handler403 = "invoicehub.failures.forbidden"
handler404 = "invoicehub.failures.not_found"
handler500 = "invoicehub.failures.broken"
