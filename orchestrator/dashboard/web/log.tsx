import { Component, h, type ComponentChild } from "preact";
import { Keys } from "./keys";
import { List } from "./list";
import { LogEntry, textOf } from "./logentry";
import { put } from "./place";
import { toggled } from "./query";
import type { Entry } from "./rows";
import type { RunData } from "./rundata";
import type { Item } from "./shown";
import { Tools } from "./tools";
import { count } from "./words";
import { Whole } from "./whole";

interface Props { data: RunData; line: number; writes?: boolean }
interface State { follow: boolean; jump: number; at: number }

/** Log shows the run's log: filtered, folded, and at its end where a person follows it. */
export class Log extends Component<Props, State> {
  state: State = { follow: !this.props.line, jump: 0, at: -1 };
  /** What had matched when a person left the end, to count what is new since. */
  private left = 0;
  private wanted = this.props.line;
  private timer?: number;

  componentDidMount(): void {
    this.find();
  }

  componentDidUpdate(was: Props): void {
    if (was.line !== this.props.line) this.wanted = this.props.line;
    this.find();
  }

  /** find shows the line that the address names, as soon as it has come; one that the filter hides with its neighbours. */
  private find(): void {
    const { data } = this.props;
    if (!this.wanted) return;
    const pos = this.wanted;
    const entry = data.rows.find(pos);
    if (!entry && data.rows.begun && data.lastPos() >= pos) this.wanted = 0;
    if (!entry || !data.shown.looked(entry.n)) return;
    this.wanted = 0;
    if (data.shown.items.some((i) => i.entry.pos === pos)) return this.jump(pos);
    data.shown.beside(entry.n);
    this.jump(pos);
  }

  private jump(pos: number): void {
    const at = this.props.data.shown.items.findIndex((i) => i.entry.pos === pos);
    this.left = this.props.data.shown.matched;
    this.setState({ follow: false, jump: this.state.jump + 1, at });
  }

  private follow(follow: boolean): void {
    this.left = this.props.data.shown.matched;
    this.setState({ follow });
  }

  private look(text: string): void {
    this.props.data.shown.look(text);
    this.follow(true);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => put({ q: text, line: "" }), 250);
  }

  private open(e: Entry | null): void {
    put({ line: e && e.pos !== this.props.line ? String(e.pos) : "" });
    this.wanted = 0;
  }

  /** beside shows what stood around a hit, or goes back to the filter. */
  private beside(e: Entry | null): void {
    this.props.data.shown.beside(e?.n ?? null);
    if (e) this.jump(e.pos);
    else this.follow(true);
  }

  private step(by: number): void {
    const { items } = this.props.data.shown;
    const now = items.findIndex((i) => i.entry.pos === this.props.line);
    const to = items[now < 0 ? items.length - 1 : now + by];
    if (!to) return;
    put({ line: String(to.entry.pos) });
    this.wanted = to.entry.pos;
  }

  /** problem goes to the first bad line of what is shown. */
  private problem(): void {
    const first = this.props.data.shown.items.find((i) => i.entry.level === "bad");
    if (first) {
      this.wanted = first.entry.pos;
      put({ line: String(first.entry.pos) });
    }
  }

  render(): ComponentChild {
    const { data, line } = this.props;
    const { shown, rows } = data;
    const { follow, jump, at } = this.state;
    const fresh = shown.matched - this.left;
    const picked = line ? shown.items.find((i) => i.entry.pos === line)?.entry : undefined;
    return (
      <section class="panel log" aria-label="Log">
        <h2>Log <small class="counts">{this.sum()}</small></h2>
        <Tools data={data} onText={(t) => this.look(t)} onDownload={() => download(data.id, shown.items)} onCopy={() => copy(shown.items)} />
        {shown.near !== null && <p class="near">The lines around one, whatever the filter says. <button type="button" class="more" onClick={() => this.beside(null)}>Back to the filter</button></p>}
        <div class="stage">
          <List items={shown.items} rowVar="--log-row" keyOf={(i) => i.entry.n} label="Log" role="log" follow={follow && shown.near === null}
            onFollow={(f) => shown.near === null && this.follow(f)} show={at} shown={jump} added={shown.added} empty={rows.count ? "No event matches the filter." : "No events yet."}
            draw={(i) => <LogEntry item={i} words={shown.filter.words} picked={i.entry.pos === line} open={(e) => this.open(e)} />} />
          {!follow && shown.near === null && shown.items.length > 0 && (
            <button type="button" class="newest" onClick={() => this.follow(true)}>↓ {fresh > 0 ? `${count(fresh)} new` : "newest"}</button>
          )}
        </div>
        {line > 0 && <Whole run={data.id} pos={line} entry={picked} filtered={shown.active() || shown.near !== null}
          beside={() => { const e = picked ?? rows.find(line); if (e) this.beside(e); }} close={() => this.open(null)} />}
        <Keys list={[
          { keys: "p", help: "problems of the log only", press: () => this.look(toggled(shown.text, "level:problems")) },
          { keys: "e", help: "first error of the log", press: () => this.problem() },
          { keys: "f", help: "newest line of the log", press: () => this.follow(true) },
          { keys: "JK", show: "J K", help: "next and previous line of the log", press: (k) => this.step(k === "J" ? 1 : -1) },
          ...(line > 0 ? [{ keys: "␛", show: "Esc", help: "close the line", press: () => this.open(null) }] : []),
        ]} />
      </section>
    );
  }

  private sum(): string {
    const { rows, shown } = this.props.data;
    const all = `${count(rows.count)} events`;
    const some = shown.active() ? `${count(shown.matched)} of ${all}` : all;
    if (!rows.begun && rows.count) return `${some}, older ones follow`;
    return rows.all.length < rows.count ? `${some} (the page keeps the newest ${count(rows.all.length)})` : some;
  }
}

function copy(items: Item[]): Promise<void> {
  return navigator.clipboard.writeText(items.map(textOf).join("\n") + "\n");
}

function download(run: string, items: Item[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([items.map(textOf).join("\n") + "\n"], { type: "text/plain" }));
  link.download = `${run}.log.txt`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
