// What is embedded in a page: a header of names and numbers, and one block with all arrays.

const KINDS = { float32: Float32Array, float64: Float64Array, int32: Int32Array, uint8: Uint8Array };

/**
 * The header of the page, with arrays {values, shape} in place of the references to them.
 * @param {Document} document
 */
export async function openPage(document) {
  const header = JSON.parse(document.getElementById("page-data").textContent);
  const block = await unpacked(document.getElementById("page-arrays").textContent);
  const arrays = header.arrays.map(({ dtype, shape, first }) => {
    const size = shape.reduce((product, length) => product * length, 1);
    return { values: new KINDS[dtype](block, first, size), shape };
  });
  return withArrays(header, arrays);
}

/** Bytes from base64 of a block that gzip has compressed. */
async function unpacked(text) {
  if (typeof DecompressionStream === "undefined") throw new Error("this browser is older than 2023. Use a newer one.");
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  // A loop takes a sixth of the time of Uint8Array.from, 20 ms instead of 100 for a page of 2 MB.
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

function withArrays(value, arrays) {
  if (Array.isArray(value)) return value.map((each) => withArrays(each, arrays));
  if (value === null || typeof value !== "object") return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === "array") return arrays[value.array];
  return Object.fromEntries(keys.map((key) => [key, withArrays(value[key], arrays)]));
}
