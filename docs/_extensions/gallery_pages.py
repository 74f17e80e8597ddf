"""The gallery: one look for its figures, and no pages of examples that are gone."""

from running_code import DOCS, ROOT, STYLE


def setup(app):
    app.connect("config-inited", _remove_old_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _remove_old_pages(app, config):
    """Builds write pages next to the others; those of an example that was renamed would stay."""
    gallery = DOCS / "gallery"
    for copy in list(gallery.rglob("*.py")):
        if not (ROOT / "examples" / copy.relative_to(gallery)).exists():
            for path in copy.parent.glob(f"{copy.stem}.*"):
                path.unlink()


def reset(gallery_conf, filename):
    """Before and after each example of the gallery: Matplotlib as it is on pages."""
    from matplotlib import pyplot

    pyplot.rcdefaults()
    pyplot.switch_backend("Agg")
    pyplot.style.use(STYLE)
