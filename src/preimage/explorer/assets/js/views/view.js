// One view for all pictures of a page, by the kind of its data.

/** The view that a record of the header describes. */
export function createView(record) {
  return { kind: record.kind };
}
