"""The words that stand in every invoice, by language: a translation is one more entry."""

from dataclasses import dataclass

from babel import Locale


@dataclass(frozen=True, kw_only=True)
class Labels:
    language: str
    title: str
    number: str
    issued_on: str
    due_on: str
    amount_due: str
    customer_tax_id: str
    tax_id: str
    description: str
    quantity: str
    unit_price: str
    tax: str
    amount: str
    subtotal: str
    discount: str
    tax_at: str
    tax_on: str
    total: str
    pay_by: str
    payment_terms: str
    payment_details: str
    notes: str
    void: str
    nothing_to_pay: str


_LABELS = {
    "en": Labels(
        language="en",
        title="Invoice {number}",
        number="Invoice number",
        issued_on="Issue date",
        due_on="Due date",
        amount_due="Amount due",
        customer_tax_id="Your tax ID",
        tax_id="Tax ID {tax_id}",
        description="Description",
        quantity="Quantity",
        unit_price="Unit price",
        tax="Tax",
        amount="Amount",
        subtotal="Subtotal",
        discount="Discount {rate}",
        tax_at="Tax {rate}",
        tax_on="Tax {rate} on {base}",
        total="Total ({currency})",
        pay_by="Please pay {amount} by {date}.",
        payment_terms="Payment terms",
        payment_details="Payment details",
        notes="Notes",
        void="VOID",
        nothing_to_pay="This invoice is void: there is nothing to pay.",
    )
}


def labels(locale: Locale) -> Labels:
    """Return the labels in the locale's language, or in English where there are none."""
    return _LABELS.get(locale.language, _LABELS["en"])
