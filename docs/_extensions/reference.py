"""Pages of the API reference, written from the public names before Sphinx looks for pages; a quick build has none."""

import importlib.util

from running_code import DOCS


def setup(app):
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(app, config):
    if config.docs_quick:
        config.exclude_patterns.append("api/*")
    else:
        load_names().write()


def load_names():
    """The module docs/api.py, whose folder is not one to import from."""
    spec = importlib.util.spec_from_file_location("api", DOCS / "api.py")
    api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(api)
    return api
