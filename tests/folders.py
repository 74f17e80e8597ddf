"""The folders of packages, which say whose a line of code is, whatever the folders above them are called.

A clone is called ``preimage`` as a rule, and its virtual environment lies in it.
"""

import os

import sklearn

import preimage


def folder_of(package):
    """The folder of a package as the names of its files begin."""
    return os.path.join(os.path.dirname(os.path.abspath(package.__file__)), "")


LIBRARY, SCIKIT_LEARN = folder_of(preimage), folder_of(sklearn)
