import { Fragment, h, render, type ComponentChild } from "preact";
import { ActDialog, learn } from "./acts";
import { Answers, keyOf } from "./answers";
import { get, Refused, words } from "./api";
import { Feed } from "./feed";
import { ask, onFrame } from "./frame";
import { Given } from "./given";
import { heldBefore, Undo } from "./held";
import { Help, Keys, listen, move, search } from "./keys";
import type { Me, Need, Row } from "./messages";
import { Needs } from "./needs";
import { notify } from "./notify";
import { follow, go, needPath, type Place, place, runPath } from "./place";
import { RunData } from "./rundata";
import { RunPage } from "./runpage";
import { Runs, stateOf } from "./runs";
import { TaskPage } from "./taskpage";
import { say, Toasts } from "./toast";
import { Top } from "./top";
import { quoted } from "./query";

/** How long a page is hidden before it gives its connections up, in milliseconds. */
const hiddenFor = 5000;

/** How long no timer ran while the machine slept, in milliseconds. */
const slept = 20_000;

/** App owns the page's state. Whatever changes it asks for a frame; one frame draws everything that has changed. */
class App {
  private readonly me: Me;
  private readonly root: HTMLElement;
  private readonly feed = new Feed((rows, needs) => this.changed(rows, needs));
  private readonly answers = new Answers();
  private data: RunData | null = null;
  private help = false;
  private address = "";
  private moved = false;
  /** What is known already, so that a person is told of what is new alone. */
  private known: Set<string> | null = null;
  private readonly ended = new Map<string, number>();
  private alarm = "";
  private told = "";
  private hides?: number;
  private ticked = Date.now();

  constructor(root: HTMLElement, me: Me) {
    this.root = root;
    this.me = me;
    learn(me.acts, me.called);
    // With ?seen a test may read the ids of all events, in the order in which the page has them.
    if (!new URLSearchParams(location.search).has("seen")) return;
    Object.defineProperty(window, "__seen", { get: () => this.data?.rows.all.map((e) => e.id) ?? [] });
  }

  start(): void {
    if (location.pathname === "/" && this.me.run) go(runPath(this.me.run) + location.search, true);
    onFrame(() => this.frame());
    follow();
    listen();
    this.feed.open();
    addEventListener("pagehide", () => this.leave());
    addEventListener("pageshow", (e) => e.persisted && location.reload());
    document.addEventListener("visibilitychange", () => this.looked());
    this.looked();
    setInterval(() => this.tick(), 1000);
    ask();
  }

  /** looked gives the connections up while the page is hidden: there are but six. */
  private looked(): void {
    clearTimeout(this.hides);
    if (document.hidden) this.hides = setTimeout(() => this.rest(), hiddenFor);
    else this.wake();
  }

  /** tick draws the times again. After a sleep of the machine a connection may be dead, and say nothing. */
  private tick(): void {
    const now = Date.now();
    if (now - this.ticked > slept && !document.hidden) {
      this.rest();
      this.wake();
    }
    this.ticked = now;
    ask();
  }

  private rest(): void {
    this.data?.stream.pause();
    this.feed.rest();
  }

  private wake(): void {
    this.data?.stream.resume();
    this.feed.wake();
  }

  /** leave ends the connections: a page that the browser keeps for the way back would hold them, and there are but six. */
  private leave(): void {
    this.feed.close();
    this.data?.close();
  }

  private frame(): void {
    const at = place();
    this.arrive(at);
    this.data?.read();
    this.alarmed();
    render(this.page(at), this.root);
    if (this.moved) document.querySelector("main")?.focus({ preventScroll: true }); // a screen reader reads the new page from there
    this.moved = false;
    const waiting = this.answers.open(this.feed.needs).length;
    document.title = `${waiting ? `(${waiting}) ` : ""}${this.title(at)} · Divisi`;
    this.marks();
  }

  /** marks tell a test what the page has taken in. */
  private marks(): void {
    const mark = document.documentElement.dataset;
    mark.feed = this.feed.live ? "live" : "lost";
    if (!this.data) return;
    const { rows, stream } = this.data;
    mark.lastPos = String(this.data.lastPos());
    mark.events = String(rows.count);
    mark.repeats = String(stream.repeats);
    mark.connections = String(stream.connections);
    mark.link = stream.link;
  }

  /** arrive follows the address: another run, another task, another filter. */
  private arrive(at: Place): void {
    const address = location.pathname + location.search;
    if (address === this.address) return;
    const moved = location.pathname !== this.address.split("?")[0];
    this.moved = moved && this.address !== "";
    this.address = address;
    if (this.data && this.data.id !== at.run) {
      this.data.close();
      this.data = null;
      this.alarm = "";
    }
    if (at.run && !this.data) this.data = new RunData(at.run);
    if (at.page === "home") return;
    const own = at.page === "task" ? quoted("task", at.task) : "";
    const q = at.query.get("q");
    if (moved || q !== null) this.data?.shown.look(q ?? own);
  }

  private title(at: Place): string {
    const row = this.feed.rows.get(at.run);
    const view = this.data?.stream.paused ? undefined : this.data?.view;
    const state = view?.wait ? "waiting" : view?.state || (row && stateOf(row)) || "waiting";
    if (at.page === "run") return `${state} · ${at.run}`;
    return at.page === "task" ? `${at.task} · ${at.run}` : "Runs";
  }

  private page(at: Place): ComponentChild {
    const now = Math.floor(Date.now() / 1000) * 1000;
    const waiting = this.answers.open(this.feed.needs).length;
    const link = this.data?.stream.link ?? (this.feed.live ? "live" : this.feed.known ? "lost" : "connecting");
    const { feed, answers, me } = this;
    return (
      <div class="page">
        <Top me={me} link={link} waiting={waiting} help={() => this.setHelp(true)} />
        <main tabIndex={-1} aria-label={this.title(at)}>
          {feed.refused && <p class="fault" role="alert">{feed.refused}</p>}
          <Needs feed={feed} answers={answers} place={at} writes={me.writes} now={now} />
          <Given answers={answers} />
          {this.body(at, now)}
        </main>
        <div class="bottom"><Undo answers={answers} now={now} /><Toasts /></div>
        <div class="unseen" role="status" aria-live="polite">{this.told}</div>
        <ActDialog view={this.data?.view} />
        {this.help && <Help close={() => this.setHelp(false)} />}
        <Keys page list={[
          { keys: "/", help: "search", press: search },
          { keys: "jk", show: "j k", help: "next and previous row", press: (k) => move(k === "j" ? 1 : -1) },
          { keys: "r", help: "all runs", press: () => go("/runs") },
          { keys: "?", help: "this list", press: () => this.setHelp(true) },
          { keys: "␛", show: "Esc", help: "back", press: () => this.back(at) },
        ]} />
      </div>
    );
  }

  private setHelp(help: boolean): void {
    this.help = help;
    ask();
  }

  private back(at: Place): void {
    if (at.page === "task") go(runPath(at.run));
    else (document.activeElement as HTMLElement | null)?.blur();
  }

  private body(at: Place, now: number): ComponentChild {
    const { data, feed, me } = this;
    if (at.page === "home") return <Fragment><h1 class="unseen">All runs</h1><Runs feed={feed} query={at.query.get("q") ?? ""} now={now} /></Fragment>;
    if (at.page === "unknown" || !data) return <p class="fault" role="alert">There is nothing at this address. <a href="/runs">All runs</a></p>;
    if (data.stream.refused && data.rows.count === 0) return <p class="fault" role="alert">{data.stream.refused} <a href="/runs">All runs</a></p>;
    if (at.page === "task") return <TaskPage key={at.task} data={data} place={at} writes={me.writes} now={now} />;
    return <RunPage key={data.id} data={data} row={feed.rows.get(at.run)} place={at} writes={me.writes} now={now} />;
  }

  /** changed tells a person of new decisions, and of the end of a run. */
  private changed(rows: Row[], needs: Need[] | null): void {
    for (const r of rows) {
      if (r.ended && this.ended.get(r.id) === 0) this.tell("The run has ended", `${r.state}: ${r.goal}`, runPath(r.id), "end " + r.id);
      this.ended.set(r.id, r.ended ?? 0);
    }
    if (!needs) return;
    this.answers.there(needs);
    const now = new Set(needs.map(keyOf));
    const fresh = this.known ? needs.filter((n) => !this.known!.has(keyOf(n))) : [];
    this.known = now;
    if (fresh.length === 1) this.tell("Needs you", fresh[0].text, needPath(fresh[0].run, fresh[0].id), "need " + fresh[0].run);
    if (fresh.length > 1) this.tell("Needs you", `${fresh.length} new decisions, first: ${fresh[0].text}`, runPath(fresh[0].run), "need " + fresh[0].run);
  }

  private alarmed(): void {
    const alarm = this.data?.view.alarm ?? "";
    if (alarm && !this.alarm) this.tell("Alarm", alarm, runPath(this.data!.id), "alarm " + this.data!.id);
    this.alarm = alarm;
  }

  private tell(title: string, text: string, path: string, tag: string): void {
    this.told = `${title}: ${text}`;
    notify(title, text, path, tag);
  }
}

async function main(root: HTMLElement): Promise<void> {
  try {
    new App(root, await get<Me>("/me")).start();
    heldBefore();
  } catch (err) {
    const refused = err instanceof Refused;
    root.textContent = refused ? words(err) : "The dashboard does not answer; trying again.";
    if (!refused) setTimeout(() => void main(root), 1000);
  }
}

addEventListener("unhandledrejection", (e) => say(words(e.reason), true));
void main(document.getElementById("app")!);
