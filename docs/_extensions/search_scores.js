/* How search ranks what it finds. Pages whose names or questions (docs/synonyms.toml) have the words of the query come first, then
 * pages for users; notes for developers and measurements come last. Without this, pages of equal scores are in alphabetical order. */
var Scorer = {
  score: ([page, title, anchor, , score, file]) => {
    const words = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().split(/\W+/);
    // The beginnings of words, so that "denoise" finds "denoising".
    const stems = words.filter((word) => word.length > 2).map((word) => word.slice(0, 6));
    // Objects of the library have a score for their names already. A whole page comes before a section of another one.
    const isObject = anchor.startsWith("#preimage.");
    const texts = isObject ? [] : [`${page} ${title}`, ...(anchor ? [] : questionsOf(file))].map((text) => text.toLowerCase());
    const named = Math.max(0, ...texts.map((text) => stems.filter((stem) => text.includes(stem)).length));
    const ranks = { start: 6, guides: 6, recipes: 3, extending: 3, results: -3, design: -6, develop: -6 };
    const rank = (ranks[page.split("/")[0]] ?? 0) - (anchor && !isObject ? 9 : 0);
    // 12 is a little more than two words of the text, and less than an object whose name is the query has by itself.
    return score + (12 * named) / Math.max(stems.length, 1) + rank;
  },
  // The values of Sphinx.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

/* The questions of a page, by its file. Objects of the library are entries of the index as well, but no main ones. */
function questionsOf(file) {
  if (!questionsOf.byFile) {
    questionsOf.byFile = new Map();
    for (const [entry, places] of Object.entries(Search._index.indexentries)) {
      for (const [number, , isMain] of places) {
        const name = Search._index.filenames[number];
        if (isMain) questionsOf.byFile.set(name, [...(questionsOf.byFile.get(name) ?? []), entry]);
      }
    }
  }
  return questionsOf.byFile.get(file) ?? [];
}
