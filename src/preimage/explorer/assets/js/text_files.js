// The text of a file that somebody chose or dropped.

import { UnreadableText } from "./rows_in_text.js";

// Bytes that are read of a long table: far more than the rows that a person pages through.
const MOST_BYTES = 2 ** 24;

/**
 * The text of a file, without the unfinished last line where the file is longer than what is read.
 * @param {File} file
 * @returns {Promise<string>}
 */
export async function textOf(file) {
  const bytes = new Uint8Array(await bytesOf(file));
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes);
  if (text.includes("\0")) {
    throw new UnreadableText(`“${file.name}” is not a text file. Save the table as CSV, and drop that file.`);
  }
  return file.size > MOST_BYTES ? text.slice(0, text.lastIndexOf("\n") + 1) : text;
}

async function bytesOf(file) {
  try {
    return await file.slice(0, MOST_BYTES).arrayBuffer();
  } catch {
    throw new UnreadableText(`“${file.name}” cannot be read: it may be a folder, or have moved. Drop one file.`);
  }
}

// Spreadsheets write “Unicode text” with two bytes per character and a mark at the beginning.
function encodingOf(bytes) {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  return bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
}
