"""An import from beginning to end: read, stage, check, and store all of a file or nothing."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from invoices.importing import checking, reading, reporting, staging, storing
from invoices.importing.conventions import Conventions, Options, Survey
from invoices.importing.lines import Line, Reader
from invoices.importing.problems import Problem, Problems, Unreadable
from invoices.importing.reading import Layout, Source, Tick
from invoices.importing.reporting import Report
from invoices.models import Organization

logger = logging.getLogger(__name__)

# How often a file is read from beginning to end: its encoding, its ways of writing, its lines.
PASSES = 3


def check(
    source: Source, organization: Organization, options: Options, *, tick: Tick = lambda _: None
) -> Report:
    """Say what importing the file would do; change nothing.

    `tick` hears how many bytes were read so far, of PASSES times the file's size. Raises
    Unreadable.
    """
    return _Import(source, organization, options, tick).run(store=False)


def import_file(
    source: Source, organization: Organization, options: Options, *, tick: Tick = lambda _: None
) -> Report:
    """Import the whole file in one transaction, or nothing of it; say which, and why.

    Joins the caller's transaction if there is one. The same file twice: the second time its
    invoices exist already, which is a problem by line, unless existing ones are skipped.
    Raises Unreadable.
    """
    return _Import(source, organization, options, tick).run(store=True)


@dataclass
class _Import:
    source: Source
    organization: Organization
    options: Options
    tick: Tick
    problems: Problems = field(default_factory=Problems)
    layout: Layout | None = None
    conventions: Conventions | None = None
    existing_skipped: int = 0

    def run(self, *, store: bool) -> Report:
        try:
            layout = self.layout = reading.examine(
                self.source, delimiter=self.options.delimiter, tick=self.tick
            )
            conventions = self.conventions = self._survey(layout)
            with staging.table():
                return self._stage_and_store(layout, conventions, store=store)
        except reading.BadHeader as bad:
            return self._refuse(bad.problems)
        except reading.BadLine as bad:
            return self._refuse([bad.problem])
        except UnicodeError:
            raise Unreadable(_("The file changed while it was read.")) from None

    def _survey(self, layout: Layout) -> Conventions:
        """Return how the file writes; what a person must say is a problem beside the others."""
        survey = Survey(layout, self.options)
        survey.hear(reading.rows(self.source, layout, tick=self._tick_after(1)))
        for problem in survey.unclear():
            self.problems.add(problem)
        return survey.conventions()

    def _stage_and_store(self, layout: Layout, conventions: Conventions, *, store: bool) -> Report:
        if not staging.fill(self._lines(layout, conventions)) and not self.problems.count:
            line = layout.header_line
            return self._refuse([Problem(line=line, sentence=_("There is no line below it."))])
        try:
            with transaction.atomic():
                return self._compare_and_store(layout, conventions, store=store)
        except storing.ChangedMeanwhile:
            sentence = _("Somebody changed these customers just now: try again.")
            return self._refuse([Problem(line=layout.header_line, sentence=sentence)])
        except IntegrityError as error:
            if "invoice_number_once_per_organization" not in str(error):
                raise
            sentence = _("Somebody made one of these invoices just now: try again.")
            return self._refuse([Problem(line=layout.header_line, sentence=sentence)])

    def _compare_and_store(
        self, layout: Layout, conventions: Conventions, *, store: bool
    ) -> Report:
        organization_id = self.organization.pk
        if store:
            storing.lock_imports(organization_id)
        if self.options.skip_existing:
            self.existing_skipped = checking.drop_existing(organization_id)
        else:
            checking.tell_existing(organization_id, self.problems)
        checking.tell_disagreements(self.problems, several_lines=layout.has("unit_price"))
        if "decimal" not in conventions.undecided:
            checking.tell_repetitions(self.problems, several_lines=layout.has("unit_price"))
            checking.tell_totals(self.problems)
        if self.problems.count:
            return self._report()
        summary = reporting.summarize(organization_id)
        if store:
            made = storing.store(organization_id)
            logger.info(
                "invoices imported", extra={"organization": organization_id, "invoices": made}
            )
        return self._report(summary=summary, imported=store)

    def _lines(self, layout: Layout, conventions: Conventions) -> Iterator[Line]:
        reader = Reader(layout, conventions, self.problems)
        for row in reading.rows(self.source, layout, tick=self._tick_after(2)):
            if line := reader.read(row):
                yield line

    def _tick_after(self, passes: int) -> Tick:
        before = passes * self.source.size
        return lambda read: self.tick(before + read)

    def _refuse(self, problems: list[Problem]) -> Report:
        for problem in problems:
            self.problems.add(problem)
        return self._report()

    def _report(
        self,
        *,
        summary: reporting.Summary | None = None,
        imported: bool = False,
    ) -> Report:
        unclear = self.conventions is not None and bool(self.conventions.undecided)
        return Report(
            layout=self.layout,
            conventions=self.conventions,
            problems=self.problems.first(),
            problem_count=self.problems.count,
            by_column=tuple(self.problems.by_column.most_common()),
            unclear=unclear,
            existing_skipped=self.existing_skipped,
            summary=summary or reporting.Summary(),
            imported=imported,
        )
