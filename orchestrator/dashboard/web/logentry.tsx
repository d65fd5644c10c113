import { h, type ComponentChild } from "preact";
import { visible } from "./foreign";
import type { Entry } from "./rows";
import type { Item } from "./shown";
import { clock, day, name } from "./words";

interface Props { item: Item; words: string[]; picked: boolean; open: (e: Entry) => void }

export function LogEntry(p: Props): ComponentChild {
  const { entry: e, times } = p.item;
  return (
    <button type="button" class={`cols entry ${e.level} ${p.picked ? "picked" : ""}`} data-j data-pos={e.pos} aria-pressed={p.picked} onClick={() => p.open(e)}>
      <time title={day(e.time)}>{clock(e.time)}</time>
      <span class={`kind ${e.kind}`}>{visible(e.kind)}</span>
      <span class="of">{visible(of(e))}</span>
      <span class="text">{times > 1 && <b class="times">×{times} </b>}{marked(e.text, p.words)}</span>
    </button>
  );
}

function of(e: Entry): string {
  return name(e.agent || e.task || "conductor");
}

/** marked is a text with the words that a person looks for as marks. */
function marked(text: string, words: string[]): ComponentChild {
  if (words.length === 0) return visible(text);
  const low = text.toLowerCase();
  const parts: ComponentChild[] = [];
  for (let i = 0; i < text.length;) {
    const [at, word] = next(low, words, i);
    parts.push(visible(text.slice(i, at)));
    if (word) parts.push(<mark>{visible(text.slice(at, at + word.length))}</mark>);
    i = at + word.length;
  }
  return parts;
}

function next(low: string, words: string[], from: number): [number, string] {
  let best: [number, string] = [low.length, ""];
  for (const w of words) {
    const at = low.indexOf(w, from);
    if (at >= 0 && at < best[0]) best = [at, w];
  }
  return best;
}

/** textOf is a row as a line of text. */
export function textOf(i: Item): string {
  const e = i.entry;
  return `${new Date(e.time).toISOString()} ${e.kind} ${of(e)} ${i.times > 1 ? `×${i.times} ` : ""}${e.text}`;
}
