// What the parts of the page share: values by name, and who wants to hear of changes.

/**
 * A store of values. `set` tells each listener once, after all values of the call have changed.
 * @param {Object} initial
 */
export function createStore(initial) {
  const values = { ...initial };
  const listeners = [];
  return {
    get: (key) => values[key],
    set(changes) {
      const changed = Object.keys(changes).filter((key) => !Object.is(values[key], changes[key]));
      if (!changed.length) return;
      for (const key of changed) values[key] = changes[key];
      for (const { keys, listener } of [...listeners]) {
        if (keys.some((key) => changed.includes(key))) listener(values);
      }
    },
    /** Call `listener` with all values whenever one of `keys` has changed; the result ends that. */
    on(keys, listener) {
      const entry = { keys: [].concat(keys), listener };
      listeners.push(entry);
      return () => listeners.splice(listeners.indexOf(entry), 1);
    },
  };
}
