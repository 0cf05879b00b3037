"""The admin, with support's own start page; apart from apps.py, which declares one app only."""

from django.contrib.admin.apps import AdminConfig


class SupportAdminConfig(AdminConfig):
    default_site = "deliveries.support_site.SupportSite"
