"""What a reader needs of a figure, checked on its layout: a title, names of axes, nothing cut off, nothing covered."""

import re
from itertools import combinations

# A text may end this many pixels beyond the edge: its box has room for letters that go lower or higher.
SLACK = 2.0


def check_figure(figure):
    """Fail with a sentence that says what is wrong."""
    figure.draw_without_rendering()  # places everything
    axes = [ax for ax in figure.axes if ax.get_visible()]
    assert any(ax.has_data() for ax in axes), "an empty figure"
    title = figure.get_suptitle() or (len([ax for ax in axes if not is_colorbar(ax)]) == 1 and axes[0].get_title())
    assert title, "a figure without a title"
    assert not re.fullmatch(r"[-+\d.,%\s]+", title), f"a bare number as title: {title}"
    check_names_of_axes(figure, axes)
    boxes = boxes_of(figure, axes)
    check_nothing_is_cut_off(figure, boxes)
    check_nothing_overlaps(boxes)
    check_legends_are_beside_the_data(figure, axes)


def check_names_of_axes(figure, axes):
    """Where numbers stand along an axis, some axis of the figure in this direction has a name."""
    for direction, common in (("x", figure.get_supxlabel()), ("y", figure.get_supylabel())):
        numbered = [ax for ax in axes if numbers_along(getattr(ax, f"{direction}axis"))]
        named = [ax for ax in axes if getattr(ax, f"get_{direction}label")()]
        assert common or named or not numbered, f"numbers along {direction}, but no name"


def numbers_along(axis):
    labels = [label.get_text() for label in axis.get_ticklabels() if label.get_visible()]
    return any(re.search(r"\d", label) for label in labels) and not any(re.search("[a-z]{3}", each) for each in labels)


def is_colorbar(ax):
    return ax.get_label() == "<colorbar>"


def legends_of(figure, axes):
    return [*figure.legends, *(ax.get_legend() for ax in axes if ax.get_legend())]


def boxes_of(figure, axes):
    """Titles, names of axes and legends, with their places."""
    texts = [figure._suptitle, figure._supxlabel, figure._supylabel]
    texts += [text for ax in axes for text in (ax.title, ax.xaxis.label, ax.yaxis.label)]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text and text.get_text()]
    return boxes + [("a legend", legend.get_window_extent()) for legend in legends_of(figure, axes)]


def check_nothing_is_cut_off(figure, boxes):
    width, height = figure.canvas.get_width_height()
    for name, box in boxes:
        inside = min(box.x0, box.y0, width - box.x1, height - box.y1) >= -SLACK
        assert inside, f"cut off: {name!r} at {box.extents.round()} in {width} × {height}"


def check_nothing_overlaps(boxes):
    for (name, box), (other, other_box) in combinations(boxes, 2):
        across = min(box.x1, other_box.x1) - max(box.x0, other_box.x0)
        up = min(box.y1, other_box.y1) - max(box.y0, other_box.y0)
        assert min(across, up) <= SLACK, f"{name!r} and {other!r} overlap"


def check_legends_are_beside_the_data(figure, axes):
    for legend in legends_of(figure, axes):
        box = legend.get_window_extent()
        for ax in axes:
            data = ax.get_window_extent()
            across = min(box.x1, data.x1) - max(box.x0, data.x0)
            up = min(box.y1, data.y1) - max(box.y0, data.y0)
            assert min(across, up) <= SLACK, "a legend lies on the data"
