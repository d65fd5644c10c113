// Moves files from format(cents, currency) to money(cents, currency).text(). It is given the files as arguments.
import { readFileSync, writeFileSync } from "node:fs";

for (const file of process.argv.slice(2)) {
  const before = readFileSync(file, "utf8");
  const after = change(before);
  if (after !== before) writeFileSync(file, after);
}

function change(text) {
  const imported = 'import { format } from "tiny-money"';
  if (!text.includes(imported)) return text;
  text = text.replace(imported, 'import { money } from "tiny-money"');
  for (let at; (at = text.search(/(?<![.\w])format\(/)) >= 0; ) {
    const open = at + "format".length;
    const end = closing(text, open);
    text = text.slice(0, at) + "money" + text.slice(open, end + 1) + ".text()" + text.slice(end + 1);
  }
  return text;
}

// closing is the place of the bracket that closes the one at open.
function closing(text, open) {
  for (let depth = 0, at = open; at < text.length; at++) {
    if (text[at] === "(") depth++;
    if (text[at] === ")" && --depth === 0) return at;
  }
  throw new Error("a bracket is not closed");
}
