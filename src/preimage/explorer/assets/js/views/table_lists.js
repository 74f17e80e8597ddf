// What all lists of a table share: which columns they show first, and where they are scrolled to.

/**
 * Lists that stay together: `{add(list), column(position), sort(list), restore()}`. Lists are held weakly: pictures
 * that nobody shows any more can go. A list is `{element, height, top, draw(), unusual(column)}`.
 * @param {number} count  of columns
 */
export function createLists(count) {
  let lists = [];
  let first = 0;
  let order = null;
  const present = () => lists.map((list) => list.deref()).filter(Boolean);
  const scrollTo = (position, leader) => {
    first = position;
    for (const list of present()) if (list !== leader) list.element.scrollTop = position * list.height;
  };
  const arrange = (next) => {
    order = next;
    scrollTo(0, null);
    for (const list of present()) list.draw();
  };
  const add = (list) => {
    lists = [...lists.filter((other) => other.deref()), new WeakRef(list)];
    list.element.addEventListener("scroll", () => {
      list.top = list.element.scrollTop;
      list.draw();
      const position = list.top / list.height;
      // A list that followed another one is within a pixel of it and leads no one.
      if (Math.abs(position - first) * list.height > 1) scrollTo(position, list);
    });
  };
  const sort = (list) => {
    const sizes = Float64Array.from({ length: count }, (_, column) => list.unusual(column));
    arrange(Int32Array.from(sizes.keys()).sort((one, other) => sizes[other] - sizes[one]));
  };
  return { add, column: (position) => (order === null ? position : order[position]), sort, restore: () => arrange(null) };
}
