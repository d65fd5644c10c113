import { Component, h, type ComponentChild } from "preact";
import { shape } from "./alike";
import { type Answers, keyOf } from "./answers";
import type { Feed } from "./feed";
import { visible } from "./foreign";
import { keep, kept } from "./keep";
import { Keys } from "./keys";
import type { Need } from "./messages";
import { NeedCard } from "./need";
import type { Place } from "./place";
import { age, name, plural } from "./words";

interface Props { feed: Feed; answers: Answers; place: Place; writes: boolean; now: number }
interface State { open: boolean | null; picked: string; more: boolean; words: string }
/** Left is how a person left the list on a page. */
interface Left { where: string; open: boolean | null; more: boolean }

/** How many decisions are listed before a person asks for more: on the page of all runs, and on another. */
const most = 8;
const few = 4;

/** Needs is what waits for a person, in all runs. It is the first thing on every page. */
export class Needs extends Component<Props, State> {
  state: State = { open: null, picked: "", more: false, words: "" };
  private card: NeedCard | null = null;
  private box: HTMLElement | null = null;
  /** What has the focus here. */
  private focused: Element | null = null;
  private where = location.pathname;

  constructor(props: Props) {
    super(props);
    const left = kept<Left>("needs", { where: "", open: null, more: false });
    if (left.where === this.where) this.state = { ...this.state, open: left.open, more: left.more };
  }

  /** leave has the list be the same after a reload. */
  private leave(change: Partial<Left>): void {
    const { open, more } = { ...this.state, ...change };
    keep("needs", { where: this.where, open, more });
    this.setState({ open, more });
  }

  /** sifted are the decisions with all words that a person typed. */
  private sifted(needs: Need[]): Need[] {
    const words = this.state.words.toLowerCase().split(/\s+/).filter(Boolean);
    return needs.filter((n) => {
      const of = `${n.kind} ${n.about ?? ""} ${n.template ?? ""}`.toLowerCase();
      return words.every((w) => of.includes(w));
    });
  }

  /** needs are the decisions that are open, those of this page first; else what blocks most is on top. */
  private needs(): Need[] {
    const { place, feed, answers } = this.props;
    const rank = (n: Need) => {
      if (place.run && n.run !== place.run) return 3;
      return (place.need && n.id !== place.need) || (place.task && n.about !== place.task) ? 1 : 0;
    };
    return answers.open(feed.needs).sort((a, b) => rank(a) - rank(b));
  }

  /** isOpen reports whether the list is shown: by itself where a decision belongs to the page. */
  private isOpen(needs: Need[]): boolean {
    const { place } = this.props;
    if (this.state.open !== null) return this.state.open;
    if (place.page === "run" && ["tab", "task", "line"].some((k) => place.query.has(k))) return false;
    if (place.page === "task") return needs.some((n) => n.run === place.run && n.about === place.task);
    return place.page === "home" || needs.some((n) => n.run === place.run);
  }

  private picked(needs: Need[]): Need | undefined {
    return needs.find((n) => keyOf(n) === this.state.picked) ?? (this.state.picked === "-" ? undefined : needs[0]);
  }

  componentDidUpdate(): void {
    const where = location.pathname;
    if (where !== this.where) {
      this.where = where;
      if (this.state.open !== null || this.state.picked || this.state.words) this.setState({ open: null, picked: "", words: "" });
    }
    const lost = !document.activeElement || document.activeElement === document.body;
    if (lost && this.focused && !this.focused.isConnected) this.rest();
    this.focused = this.box?.contains(document.activeElement) ? document.activeElement : null;
  }

  /** head is that of the open decision. */
  private head(): HTMLElement | null | undefined {
    return this.box?.querySelector<HTMLElement>(".need-head[aria-expanded=true]");
  }

  /** rest puts the focus, whose element has gone with an answer, to the next decision, and to the page where there is none. */
  private rest(): void {
    (this.head() ?? this.box?.querySelector<HTMLElement>(".fold") ?? document.querySelector("main"))?.focus();
  }

  /** press answers the decision that is unfolded, and none that has gone from the list. */
  private press(key: string): void {
    const picked = this.picked(this.sifted(this.needs()));
    if (picked && this.card && keyOf(this.card.props.need) === keyOf(picked)) this.card.press(key);
  }

  /** armed reports whether an answer is chosen that Enter sends. */
  private armed(sifted: Need[]): boolean {
    const picked = this.props.writes ? this.picked(sifted) : undefined;
    return !!picked && this.props.answers.draft(picked).armed > 0;
  }

  private next(): void {
    const needs = this.sifted(this.needs());
    if (needs.length === 0) return;
    const open = this.isOpen(needs);
    const i = open ? needs.findIndex((n) => n === this.picked(needs)) + 1 : 0;
    const to = needs[i % needs.length];
    this.setState({ open: true, picked: keyOf(to), more: this.state.more || i % needs.length >= few }, () => {
      const head = this.head();
      head?.focus({ preventScroll: true });
      head?.scrollIntoView({ block: "nearest" });
    });
  }

  render(): ComponentChild {
    const { feed, answers, writes, place } = this.props;
    const needs = this.needs();
    const asleep = answers.asleep(feed.needs).length;
    if (needs.length === 0 && asleep === 0) return null;
    const open = this.isOpen(needs) && needs.length > 0;
    const sifted = this.sifted(needs);
    const shown = this.state.more ? sifted : sifted.slice(0, place.page === "home" ? most : few);
    return (
      <section class={`needs ${open ? "open" : ""}`} aria-label="Needs you" onFocusIn={(e: FocusEvent) => void (this.focused = e.target as Element)}
        ref={(e: HTMLElement | null) => void (this.box = e)}>
        <h2>
          <button type="button" class="fold" aria-controls="needs" aria-expanded={open} onClick={() => this.leave({ open: !open })}>
            <span aria-hidden="true">{open ? "▾" : "▸"}</span> Needs you <span class="number">{needs.length}</span>
          </button>
          {!open && needs[0] && <span class="first">{visible(needs[0].text)}</span>}
          {asleep > 0 && <button type="button" class="quiet" onClick={() => answers.wake()}>{asleep} snoozed: show</button>}
        </h2>
        {open && (needs.length > most || this.state.words) && (
          <input class="sift" type="search" placeholder="Filter: task, template or kind" aria-label="Filter the decisions" value={this.state.words}
            onInput={(e: Event) => this.setState({ words: (e.target as HTMLInputElement).value })} />
        )}
        {open && sifted.length === 0 && <p class="empty">No decision has these words.</p>}
        {open && <ul id="needs" data-list>{shown.map((n) => this.one(n, needs, sifted))}</ul>}
        {open && shown.length < sifted.length && (
          <button type="button" class="more" onClick={() => this.leave({ more: true })}>… {sifted.length - shown.length} more</button>
        )}
        <Keys list={[
          { keys: "n", help: "next decision", press: () => this.next() },
          ...(open && writes ? [{ keys: "123456789", show: "1 … 9", help: "answer the open decision", press: (k: string) => this.press(k) }] : []),
          ...(this.armed(sifted) ? [{ keys: "⏎", show: "Enter", help: "send the chosen answer", press: (k: string) => this.press(k) }] : []),
        ]} />
      </section>
    );
  }

  private one(n: Need, needs: Need[], sifted: Need[]): ComponentChild {
    const { feed, answers, writes, place } = this.props;
    const open = this.picked(sifted) === n;
    const key = keyOf(n);
    const alike = n.alike ? needs.filter((x) => x !== n && x.alike === n.alike) : [];
    return (
      <li key={key} class={`need ${open ? "open" : ""}`}>
        <button type="button" class="need-head" data-j aria-expanded={open} onClick={() => this.setState({ picked: open ? "-" : key })}>
          <span class="kind">{n.kind}</span>
          <span class="text"><Facts need={n} /> <span>{visible(says(n))}</span></span>
          <span class="meta">
            {n.run !== place.run && <span class="run-of">{visible(feed.rows.get(n.run)?.goal ?? name(n.run))}</span>}
            {n.blocks > 0 && <b>{plural(n.blocks, "task")} {n.blocks === 1 ? "waits" : "wait"}</b>}
            {n.since > 0 && <span>{age(this.props.now - n.since)}</span>}
          </span>
        </button>
        {open && <NeedCard need={n} alike={alike} answers={answers} writes={writes} elsewhere={place.run !== n.run} goal={feed.rows.get(n.run)?.goal ?? ""}
          there={(c) => void (this.card = c)} />}
      </li>
    );
  }
}

/** Facts are what tells one decision from another. */
function Facts(p: { need: Need }): ComponentChild {
  const n = p.need;
  return (
    <span class="facts-of">
      {n.about && <b>{visible(name(n.about))}</b>}{" "}
      {n.template && <span>of {visible(n.template)}</span>}{" "}
      {(n.attempt ?? 0) > 1 && <em>{nth(n.attempt!)} try</em>}{" "}
      {shape(n)}
    </span>
  );
}

/** says is why a patch of one task is held, and what any other decision is about. */
function says(n: Need): string {
  return (["patch", "test"].includes(n.kind) && (n.tasks?.length ?? 1) === 1 && n.evidence?.[0]?.split("\n")[0]) || n.text;
}

function nth(n: number): string {
  return n + (["th", "st", "nd", "rd"][n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] ?? "th");
}
