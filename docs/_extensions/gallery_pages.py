"""The gallery: one look for its figures, thumbnails that can be read, and no pages of examples that are gone."""

import re
import tomllib

from running_code import DOCS, ROOT, STYLE


def setup(app):
    app.connect("config-inited", _remove_old_pages)
    # After sphinx-gallery has drawn all figures and their thumbnails.
    app.connect("builder-inited", _cut_thumbnails, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _remove_old_pages(app, config):
    """Builds write pages next to the others; those of an example that was renamed would stay."""
    gallery = DOCS / "gallery"
    for copy in list(gallery.rglob("*.py")):
        if not (ROOT / "examples" / copy.relative_to(gallery)).exists():
            for path in copy.parent.glob(f"{copy.stem}.*"):
                path.unlink()


def parts():
    """The parts of figures that thumbnails show, by the names of examples."""
    return tomllib.loads((DOCS / "thumbnails.toml").read_text(encoding="utf-8"))


def _cut_thumbnails(app):
    if app.config.docs_quick:
        return
    for name, part in parts().items():
        (source,) = (ROOT / "examples").rglob(f"{name}.py")
        images = DOCS / "gallery" / source.parent.name / "images"
        text = source.read_text(encoding="utf-8")
        number, drawn = re.search(r"thumbnail_number = (\d+)", text), re.search(r"thumbnail_path = '(.*)'", text)
        figure = DOCS / drawn[1] if drawn else images / f"sphx_glr_{name}_{int(number[1]) if number else 1:03}.png"
        if figure.exists():
            size = app.config.sphinx_gallery_conf.get("thumbnail_size", (400, 280))
            thumbnail(figure, part, size).save(images / "thumb" / f"sphx_glr_{name}_thumb.png")


def thumbnail(figure, part, size):
    """A part of a picture, as large as fits a size, on white."""
    from PIL import Image

    with Image.open(figure) as picture:
        width, height = picture.size
        box = [round(edge * extent) for edge, extent in zip(part, (width, height, width, height), strict=True)]
        shown = picture.convert("RGB").crop(box)
    shown = shown.resize([max(1, round(each * min(w / s for w, s in zip(size, shown.size)))) for each in shown.size])
    paper = Image.new("RGB", tuple(size), "white")
    paper.paste(shown, [(room - used) // 2 for room, used in zip(size, shown.size, strict=True)])
    return paper


def reset(gallery_conf, filename):
    """Before and after each example of the gallery: Matplotlib as it is on pages."""
    from matplotlib import pyplot

    pyplot.rcdefaults()
    pyplot.switch_backend("Agg")
    pyplot.style.use(STYLE)
