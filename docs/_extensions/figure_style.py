"""One look for the figures of all pages and of the gallery."""

from running_code import STYLE


def reset(gallery_conf, filename):
    """Before and after each example of the gallery: Matplotlib as it is on pages."""
    from matplotlib import pyplot

    pyplot.rcdefaults()
    pyplot.switch_backend("Agg")
    if STYLE.exists():
        pyplot.style.use(STYLE)
