"""How Sphinx builds the site: ``make docs``; ``DOCS_QUICK=1 sphinx-build docs /tmp/html`` for a quick look at pages.

A quick build leaves out the gallery and the pages of the reference, and runs no code; it shows outputs of earlier runs.
"""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent / "src"), str(DOCS / "_extensions")]
os.environ.setdefault("MPLBACKEND", "Agg")

import gallery_order

import preimage

QUICK = bool(os.environ.get("DOCS_QUICK"))

project = "preimage"
author = "The preimage developers"
copyright = f"{datetime.now(UTC).year}, {author}"
version = release = preimage.__version__
repository_url = "https://github.com/preimage-dev/preimage"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "descriptions",
    "explorer_pages",
    "gallery_pages",
    "initials",
    "live_explorer",
    "mathml",
    "names",
    "reference",
    "repository_links",
    "shown_outputs",
    "synonyms",
]
if not QUICK:
    extensions.append("sphinx_gallery.gen_gallery")

exclude_patterns = [
    "_build",
    "results/records",
    "sg_execution_times.rst",
    "**/sg_execution_times.rst",
    "gallery/**/*.ipynb",
]
exclude_patterns += ["gallery", "api/*.rst"] if QUICK else []
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
default_role = "name"
# Quotes around values such as "rbf" can be copied into code.
smartquotes = False
# Other libraries have sites of their own; links to them would need the network at build time.
nitpick_ignore_regex = [("py:.*", r"(?!preimage\.[a-zA-Z]).*")]
# The gallery and the reference are not part of a quick build.
suppress_warnings = ["toc.not_readable", "toc.excluded", "ref.doc", "myst.xref_missing"] if QUICK else []
# Names of examples have no blanks; folders above a clone may have some, which break no link.
suppress_warnings.append("sphinx_gallery.space_in_filename")

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
html_math_renderer = "mathml"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False

copybutton_selector = ", ".join(f"div.highlight-{kind} pre" for kind in ("python", "bash", "sh", "default", "pycon"))
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/(plot|explore)_",
    "ignore_pattern": r"(^|[\\/])(demo|_\w+)\.py$",
    "subsection_order": gallery_order.FOLDERS,
    "within_subsection_order": "gallery_order.GalleryOrder",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("preimage",),
    "inspect_global_variables": True,
    "reset_modules": ("gallery_pages.reset",),
    "image_scrapers": ("matplotlib", "explorer_pages.scrape"),
    "image_srcset": ["2x"],  # sharp figures on sharp screens
    "parallel": True,
    "abort_on_example_error": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "min_reported_time": 1e9,
}

html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["names.js", "live.js"]
html_search_scorer = str(DOCS / "_extensions" / "search_scores.js")
html_theme = "pydata_sphinx_theme"
html_title = "preimage"
html_context = {"default_mode": "auto"}
html_baseurl = "https://preimage-dev.github.io/preimage/"
html_logo = "_static/logo.svg"
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_domain_indices = False
html_sidebars = {"index": [], "recipes": []}
html_theme_options = {
    "logo": {"text": "preimage", "alt_text": "preimage, front page"},
    "github_url": repository_url,
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def setup(app):
    app.add_config_value("docs_quick", QUICK, "env", bool)
