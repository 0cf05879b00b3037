"""The whole of InvoiceHub on one machine, in one terminal: behind `manage.py demo`."""
