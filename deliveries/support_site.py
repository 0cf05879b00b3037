"""The admin as support finds it: its start page, and one search.

Not in `deliveries.admin`, which registers at this site: whoever imports one of its modules first
would make two sites.
"""

from django.contrib import admin


class SupportSite(admin.AdminSite):
    site_header = "InvoiceHub support"
    site_title = "InvoiceHub support"
    index_title = "Right now"
