/*!
  This file includes Preact 11.2.0:

  The MIT License (MIT)

  Copyright (c) 2015-present Jason Miller

  Permission is hereby granted, free of charge, to any person obtaining a copy
  of this software and associated documentation files (the "Software"), to deal
  in the Software without restriction, including without limitation the rights
  to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
  copies of the Software, and to permit persons to whom the Software is
  furnished to do so, subject to the following conditions:

  The above copyright notice and this permission notice shall be included in all
  copies or substantial portions of the Software.

  THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
  IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
  FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
  AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
  LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
  OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
  SOFTWARE.
*/
import { h, render, type ComponentChild } from "preact";
import { Agents, Head, Phases } from "./head";
import { type Detail, Log } from "./log";
import type { Line, Task, View } from "./messages";
import { Once } from "./once";
import { type Row, Rows } from "./rows";
import { about, Stream } from "./stream";
import { again, type Sort, Tasks } from "./tasks";

/** How long one frame may take lines in, in milliseconds: the rest waits for the next frame. */
const slice = 10;

const nothing: View = {
  state: "", goal: "", repo: "", base: "", parallel: 0, tokens: 0, cached: 0, calls: 0, created: 0, ended: 0, last: 0, waited: 0,
  phases: [], agents: [], tasks: [],
};

/** App owns the page's state. Whatever changes it asks for a frame; one frame draws everything that has changed. */
class App {
  private readonly run: string;
  private view = nothing;
  private readonly tasks = new Map<string, Task>();
  private readonly rows = new Rows((task) => this.tasks.has(task));
  private readonly stream: Stream;
  private readonly root: HTMLElement;
  private queue: { pos: number; data: string }[] = [];
  private asked = false;
  private version = 0;
  private second = 0;
  private frozen: Row[] | null = null;
  private frozenAt = 0;
  private follow = true;
  private detail: Detail | null = null;
  private sort: Sort = { by: "state", down: false };
  private only = "";
  private choice = 0;
  private readonly seen: string[] | null;

  constructor(root: HTMLElement, run: string) {
    this.root = root;
    this.run = run;
    // With ?seen the ids of all events are kept in the order in which they arrived, for a test to read.
    this.seen = new URLSearchParams(location.search).has("seen") ? [] : null;
    if (this.seen) Object.assign(window, { __seen: this.seen });
    this.stream = new Stream(run, (pos, data) => this.take(pos, data), (data) => this.show(data), () => this.ask());
  }

  start(): void {
    this.stream.open();
    setInterval(() => this.ask(), 1000);
    this.ask();
  }

  private take(pos: number, data: string): void {
    this.queue.push({ pos, data });
    this.ask();
  }

  /** show takes a view in: it has the tasks that changed. */
  private show(data: string): void {
    this.view = JSON.parse(data) as View;
    for (const t of this.view.tasks) this.tasks.set(t.id, t);
    this.version++;
    this.ask();
  }

  /** ask draws with the next frame; a page in the background has no frames, so that it uses a timer. */
  private ask(): void {
    if (this.asked) return;
    this.asked = true;
    if (document.hidden) setTimeout(() => this.frame(), 250);
    else requestAnimationFrame(() => this.frame());
  }

  private frame(): void {
    this.asked = false;
    this.read();
    this.second = Math.floor(Date.now() / 1000);
    render(this.page(), this.root);
    const mark = document.documentElement.dataset;
    mark.lastPos = String(this.queue.length ? 0 : this.stream.received);
    mark.events = String(this.rows.count);
    mark.repeats = String(this.stream.repeats);
    mark.connections = String(this.stream.connections);
    mark.link = this.stream.link;
    if (this.queue.length) this.ask();
  }

  private read(): void {
    const until = performance.now() + slice;
    let n = 0;
    while (n < this.queue.length && (document.hidden || performance.now() < until)) {
      const { pos, data } = this.queue[n++];
      for (const l of JSON.parse(data) as Line[]) {
        this.rows.add(pos, l);
        this.seen?.push(l.id);
      }
    }
    this.queue.splice(0, n);
  }

  private page(): ComponentChild {
    const { run, view, tasks, rows, stream, version, second, choice } = this;
    const now = second * 1000;
    const shown = this.frozen ?? rows.shown;
    document.title = `${view.state || "waiting"} · ${run} · Divisi`;
    return (
      <main>
        <Once version={[version, second, stream.link]} draw={() => <Head id={run} view={view} link={stream.link} now={now} />} />
        <Once version={[version]} draw={() => <Phases phases={view.phases} />} />
        <div class="columns">
          <div class="left">
            <Once version={[version, second]} draw={() => (
              <Agents agents={view.agents} now={now} over={view.ended > 0} pick={(t) => this.pick(t)} />
            )} />
            <Once version={[version, choice]} draw={() => (
              <Tasks rows={[...tasks.values()]} sort={this.sort} picked={rows.filter.task} only={this.only}
                onSort={(by) => this.set(() => (this.sort = again(this.sort, by)))} onPick={(t) => this.pick(t)}
                onOnly={(s) => this.set(() => (this.only = s))} />
            )} />
          </div>
          <Log rows={rows} shown={shown} waiting={this.frozen ? rows.count - this.frozenAt : 0} paused={!!this.frozen}
            follow={this.follow && !this.frozen} detail={this.detail} onFilter={(f) => this.filter(f)}
            onPause={(p) => this.pause(p)} onFollow={(f) => this.setFollow(f)} onDetail={(r) => void this.open(r)} />
        </div>
      </main>
    );
  }

  private set(change: () => void): void {
    change();
    this.choice++;
    this.ask();
  }

  private pick(task: string): void {
    this.filter({ task });
  }

  private filter(f: Partial<Rows["filter"]>): void {
    this.set(() => {
      this.rows.set(f);
      this.follow = true;
      if (this.frozen) this.frozen = this.rows.shown.filter((r) => r.n < this.frozenAt);
    });
  }

  private pause(paused: boolean): void {
    this.set(() => {
      this.frozen = paused ? [...this.rows.shown] : null;
      this.frozenAt = this.rows.count;
    });
  }

  private setFollow(follow: boolean): void {
    if (follow) this.frozen = null;
    this.set(() => (this.follow = follow));
  }

  /** open fetches the event of a row in full. */
  private async open(r: Row | null): Promise<void> {
    if (!r || r.pos === this.detail?.pos) return this.set(() => (this.detail = null));
    this.set(() => (this.detail = { pos: r.pos, id: "", text: "…" }));
    const text = await whole(this.run, r.pos);
    if (this.detail?.pos === r.pos) this.set(() => (this.detail = { pos: r.pos, id: "", text }));
  }
}

async function whole(run: string, pos: number): Promise<string> {
  try {
    const answer = await fetch(`/api/v1/runs/${run}/batch?pos=${pos}`);
    if (!answer.ok) return `${answer.status}: ${await answer.text()}`;
    return JSON.stringify(await answer.json(), null, 2);
  } catch (err) {
    return `The event could not be read: ${String(err)}`;
  }
}

async function main(root: HTMLElement): Promise<void> {
  try {
    new App(root, await about()).start();
  } catch {
    root.textContent = "The dashboard does not answer; trying again.";
    setTimeout(() => void main(root), 1000);
  }
}

void main(document.getElementById("app")!);
