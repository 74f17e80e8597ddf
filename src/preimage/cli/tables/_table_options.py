"""What a user can say about a table, in place of what is guessed."""

from dataclasses import dataclass

# The word that says that no column is an index.
NO_INDEX = "none"
# And that no line is a comment.
NO_COMMENT = "none"


@dataclass(frozen=True)
class TableOptions:
    """How to read a table; None is guessed from its beginning.

    Attributes
    ----------
    delimiter : str or None
        What separates values; a blank stands for any run of blanks and tabs.
    decimal, thousands : str or None
        Decimal separator, and what groups digits.
    encoding : str or None
    header : bool or None
        Whether the first line has the names of the columns.
    index : str or None
        The column that names rows, or "none".
    missing : tuple of str
        Further marks of missing values.
    comment : str or None
        What begins lines to leave out, or "none".
    skip, skip_footer : int or None
        Lines before and after the table.
    skip_ragged : bool
        Whether to leave out lines with another number of values than the header.
    sheet : str or None
        Of an Excel file; None is the first.
    columns, exclude, keep : tuple of str or None
        Columns to take, to leave out, and to write next to the result: names, or numbers from 1 where there are none.
    standardize : bool or None
        Whether columns are divided by their deviation; None does so where these differ much.
    impute : str or None
        "mean", "median" or "kernel": what missing values are replaced by.
    """

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    header: bool | None = None
    index: str | None = None
    missing: tuple[str, ...] = ()
    comment: str | None = None
    skip: int | None = None
    skip_footer: int | None = None
    skip_ragged: bool = False
    sheet: str | None = None
    columns: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    keep: tuple[str, ...] | None = None
    standardize: bool | None = None
    impute: str | None = None


DEFAULTS = TableOptions()
