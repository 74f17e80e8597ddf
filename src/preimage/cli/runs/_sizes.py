"""Whether a file is too large for models of all of its rows."""

import sys
from pathlib import Path

import numpy as np

from preimage._engine.memory import free_memory
from preimage.cli._errors import CommandError
from preimage.cli.runs._file_model import MEMORY_PARTS
from preimage.cli.tables._formats import format_of
from preimage.cli.tables._sources import CHUNKED_INPUTS, exceeds, open_source
from preimage.cli.tables._table_options import TableOptions
from preimage.estimators._kernel_input import too_large_for_exact


def is_large(path: Path) -> bool:
    """Whether the rows of a file would take more than a quarter of the free memory."""
    return exceeds(path, free_memory(np.empty(0)) // MEMORY_PARTS)


def has_many_rows(path: Path, options: TableOptions) -> bool:
    """Whether a table has more rows than models of all rows are made of unless a user asks for them."""
    try:
        if format_of(path) not in CHUNKED_INPUTS:
            return False
        n_rows = open_source(path, options).n_rows
    except CommandError:  # reading it will report what is wrong
        return False
    return too_large_for_exact(n_rows, sys.maxsize)  # whatever the memory, which must not change the answer
