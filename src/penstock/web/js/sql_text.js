// SQL as it is written: parts with a colour each, and what is kept in the browser while it is written.

const PARTS = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^'\\]|\\.|'')*(?:'|$)|"(?:[^"\\]|\\.|"")*(?:"|$)|`[^`]*(?:`|$)|\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b|[A-Za-z_]\w*|\[|\]/g;

// Places of what has a colour: [from, to, class]. `words` has `keywords` (in capitals) and `functions`, as sets.
export function colours(text, words) {
  const found = [];
  let last = "";
  for (const part of text.matchAll(PARTS)) {
    const [one] = part;
    let kind = "";
    // What is a column's name by its place is none of SQL's words.
    const named = text[part.index - 1] === "." || (last === "AS" && one.toUpperCase() !== "SELECT");
    if (one.startsWith("--") || one.startsWith("/*")) kind = "comment";
    else if (one[0] === "'" || one[0] === '"') kind = "string";
    else if (/^\d/.test(one)) kind = "number";
    else if (one === "[" || one === "]") kind = "keyword";
    else if (named) kind = "";
    else if (words.functions.has(one.toLowerCase()) && /^\s*\(/.test(text.slice(part.index + one.length))) kind = "function";
    else if (words.keywords.has(one.toUpperCase())) kind = "keyword";
    if (kind !== "comment") last = one.toUpperCase();
    if (kind) found.push([part.index, part.index + one.length, kind]);
  }
  return found;
}

// The text in pieces, each with its class, for a template.
export function pieces(text, words) {
  const found = [];
  let at = 0;
  for (const [from, to, kind] of colours(text, words)) {
    if (from > at) found.push({ text: text.slice(at, from), kind: "" });
    found.push({ text: text.slice(from, to), kind });
    at = to;
  }
  if (at < text.length) found.push({ text: text.slice(at), kind: "" });
  return found;
}

export function wordsOf(given) {
  return { keywords: new Set(given?.keywords ?? []), functions: new Set(given?.functions ?? []) };
}

// What is not saved yet outlasts a reload of the page, as long as its tab is open.
export function kept(key, otherwise) {
  try {
    const found = sessionStorage.getItem(`penstock-${key}`);
    return found === null ? otherwise : JSON.parse(found);
  } catch {
    return otherwise;
  }
}

export function keep(key, value) {
  try {
    if (value === null) sessionStorage.removeItem(`penstock-${key}`);
    else sessionStorage.setItem(`penstock-${key}`, JSON.stringify(value));
  } catch {
    // a browser that keeps nothing is no reason not to write
  }
}
