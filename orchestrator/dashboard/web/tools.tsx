import { h, type ComponentChild } from "preact";
import { parse, toggled } from "./query";
import type { RunData } from "./rundata";
import { say } from "./toast";
import { count } from "./words";
import { ask } from "./frame";

interface Props { data: RunData; onText: (text: string) => void; onDownload: () => void; onCopy: () => Promise<void> }

/** Tools are the log's filter field, its terms as chips, and what a person does with the lines in sight. */
export function Tools(p: Props): ComponentChild {
  const { shown, rows } = p.data;
  const terms = parse(shown.text);
  const there = new Set(terms.map((t) => t.raw));
  const kinds = [...rows.byKind].sort((a, b) => b[1] - a[1]);
  const flip = (raw: string) => p.onText(toggled(shown.text, raw));
  return (
    <div class="tools" role="search">
      <div class="line">
        <input type="search" name="q" data-search spellcheck={false} placeholder="Filter: words, role:tester task:ID level:bad kind:turn -word"
          aria-label="Filter the log" value={shown.text} onInput={(e: Event) => p.onText((e.target as HTMLInputElement).value)} />
        {shown.active() && <button type="button" class="clear" onClick={() => p.onText("")}>Clear</button>}
        <button type="button" title="Copy the lines that are shown" onClick={() => void p.onCopy().then(() => say("Copied."), () => say("The browser does not let the page copy.", true))}>Copy</button>
        <button type="button" title="Download the lines that are shown, as text" onClick={p.onDownload}>Save</button>
      </div>
      <div class="chips">
        {terms.filter((t) => !t.raw.startsWith("kind:") && t.raw !== "level:problems").map((t) => (
          <button type="button" class={`chip on ${t.not ? "not" : ""}`} title="Take it out of the filter" onClick={() => flip(t.raw)}>{t.raw} ✕</button>
        ))}
        <button type="button" class="chip problems" aria-pressed={there.has("level:problems")} title="Lines that tell of a failure or a warning: show these alone. Key p" onClick={() => flip("level:problems")}>problems {count(rows.problems)}</button>
        {shown.folded > 0 && (
          <button type="button" class="chip folded" aria-pressed={shown.whole} title="Lines that tell a person nothing by themselves, such as each turn of a model: show or hide them"
            onClick={() => { shown.fold(!shown.whole); ask(); }}>{shown.whole ? "fold" : "folded"} {count(shown.folded)}</button>
        )}
        {kinds.map(([kind, n]) => (
          <button type="button" class="chip kind" key={kind} aria-pressed={there.has("kind:" + kind)} onClick={() => flip("kind:" + kind)}>{kind} {count(n)}</button>
        ))}
      </div>
    </div>
  );
}
