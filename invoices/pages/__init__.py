"""What the finance pages show, as values: templates place them and decide nothing."""

from invoices.pages.actions import RetryPage, retry_page
from invoices.pages.batch_notes import BatchNote, running_batch_of
from invoices.pages.bounces import BouncesPage, bounces_as_cells, bounces_page, came_back_note
from invoices.pages.details import InvoicePage, invoice_page
from invoices.pages.documents import Pdf, pdf_of
from invoices.pages.drafts import DraftPage, TotalsBox, draft_page, totals_box
from invoices.pages.formats import Formats, Moment
from invoices.pages.listings import InvoiceListing
from invoices.pages.lists import InvoiceRow, invoice_rows
from invoices.pages.notices import Notice, notices
from invoices.pages.panels import EmailPanel, email_panel
from invoices.pages.refusals import Warned, warnings_of
from invoices.pages.reminder_days import (
    Foreseen,
    ReminderDay,
    ReminderRow,
    chosen_day,
    foreseen,
    of_group,
    reminder_day,
    reminder_rows,
)
from invoices.pages.reminders import RemindersCard, reminders_card
from invoices.pages.states import EmailState, Pill, email_state, payment_state

__all__ = [
    "BatchNote",
    "BouncesPage",
    "DraftPage",
    "EmailPanel",
    "EmailState",
    "Foreseen",
    "Formats",
    "InvoiceListing",
    "InvoicePage",
    "InvoiceRow",
    "Moment",
    "Notice",
    "Pdf",
    "Pill",
    "ReminderDay",
    "ReminderRow",
    "RemindersCard",
    "RetryPage",
    "TotalsBox",
    "Warned",
    "bounces_as_cells",
    "bounces_page",
    "came_back_note",
    "chosen_day",
    "draft_page",
    "email_panel",
    "email_state",
    "foreseen",
    "invoice_page",
    "invoice_rows",
    "notices",
    "of_group",
    "payment_state",
    "pdf_of",
    "reminder_day",
    "reminder_rows",
    "reminders_card",
    "retry_page",
    "running_batch_of",
    "totals_box",
    "warnings_of",
]
