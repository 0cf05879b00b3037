"""What a person types to find invoices: a number's beginning, an address's, words of a name.

Each condition is written as the index that serves it: invoice_by_number_start,
invoice_by_number_end, customer_by_email_start, customer_by_words_of_name.
"""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import BigIntegerField, BooleanField, F, Func, Q, QuerySet, Value
from django.db.models.functions import Lower, Reverse, Upper

from invoices.models import Customer, InvoiceQuerySet, Organization

# Up to so many customers are named to PostgreSQL one by one, which then has their invoices by
# index; a search that means more is so common that reading the list in its order finds a page.
MOST_CUSTOMERS = 5_000


def matching(invoices: InvoiceQuerySet, term: str, organization: Organization) -> InvoiceQuerySet:
    """Return those of the organization's invoices that the term may mean: any of the three.

    One query now, for the customers, unless the term is empty.
    """
    if not term:
        return invoices
    customers = list(_customers(term, organization)[: MOST_CUSTOMERS + 1])
    numbered = with_number(invoices)
    number = number_begins(term)
    if len(customers) <= MOST_CUSTOMERS:
        return numbered.filter(number | Q(_of_any(customers)))
    looked_through = numbered.alias(
        email_lower=Lower("customer__email"), words=SearchVector("customer__name", config="simple")
    )
    return looked_through.filter(number | address_begins(term) | words_begin(term))


def with_number(invoices: InvoiceQuerySet) -> InvoiceQuerySet:
    """Let invoices be asked by `number_is` and `number_begins`."""
    return invoices.alias(number_upper=Upper("number"))


def customers() -> QuerySet[Customer]:
    """Return customers who can be asked by `address_begins` and `words_begin`."""
    return Customer.objects.alias(
        email_lower=Lower("email"), words=SearchVector("name", config="simple")
    )


def with_reversed_number(invoices: InvoiceQuerySet) -> InvoiceQuerySet:
    """Let invoices be asked by `number_ends`."""
    return invoices.alias(number_reversed=Reverse(Upper("number")))


def number_is(term: str) -> Q:
    return Q(number_upper=_upper(term))


def number_begins(term: str) -> Q:
    return Q(number_upper__startswith=_upper(term))


def number_ends(term: str) -> Q:
    """People say "seventeen" of INV-0017."""
    return Q(number_reversed__startswith=_upper(term)[::-1])


def _upper(text: str) -> str:
    """Return the text in capitals as PostgreSQL does it, which leaves ß alone."""
    return "".join(c.upper() if len(c.upper()) == 1 else c for c in text)


def address_begins(term: str) -> Q:
    return Q(email_lower__startswith=term.lower())


def words_begin(term: str) -> Q:
    """Every word must begin one of the name's. What is quoted is no operator."""
    words = [word.replace("\\", " ").replace("'", "''") for word in term.split()]
    lexemes = [f"'{word}':*" for word in words if word.strip()]
    query = SearchQuery(" & ".join(lexemes), search_type="raw", config="simple")
    return Q(words=query)


def _of_any(customers: list[int]) -> Func:
    # One array: thousands of single parameters take longer to write down than to look up.
    return Func(
        F("customer"),
        Value(customers, ArrayField(BigIntegerField())),
        template="%(expressions)s)",
        arg_joiner=" = ANY (",
        output_field=BooleanField(),
    )


def _customers(term: str, organization: Organization) -> QuerySet[Customer, int]:
    meant = customers().filter(address_begins(term) | words_begin(term), organization=organization)
    return meant.values_list("pk", flat=True)
