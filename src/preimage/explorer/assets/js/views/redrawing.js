// Pictures that are drawn again when something that they share has changed.

/**
 * A set of pictures: `{add(element, draw), redraw()}`. They are held weakly, so that those that nobody shows any more
 * can go.
 */
function createPictures() {
  const drawings = new WeakMap();
  let elements = [];
  const add = (element, draw) => {
    drawings.set(element, draw);
    elements = [...elements.filter((other) => other.deref()), new WeakRef(element)];
  };
  const redraw = () => {
    for (const element of elements) drawings.get(element.deref())?.();
  };
  return { add, redraw };
}

/** The same, for pictures whose colours depend on whether the page is dark. */
export function createThemedPictures() {
  const pictures = createPictures();
  new MutationObserver(pictures.redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return pictures;
}
