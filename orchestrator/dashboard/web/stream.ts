import { at, get, Refused, root, words } from "./api";

/** How many messages of the log a page begins with: the others are asked for behind them. */
const newest = 2000;

/** How many pages of a browser have a connection to a run. There are six to one host: others are for the feed, that of hidden pages, and
    all else. More pages take turns. */
const slots = 3;
const turn = 3000;

interface Slot { name: string; release: () => void }

function lock(name: string, options: LockOptions): Promise<Slot | null> {
  return new Promise((got, no) => {
    navigator.locks.request(name, options, (there) => {
      if (!there) return got(null);
      return new Promise<void>((release) => got({ name, release }));
    }).catch(no);
  });
}

/** slot waits for one of the places for a connection. */
async function slot(signal: AbortSignal): Promise<Slot | null> {
  for (let i = 0; i < slots; i++) {
    const free = await lock(`divisi run ${i}`, { ifAvailable: true });
    if (free) return free;
  }
  return lock(`divisi run ${Math.floor(Math.random() * slots)}`, { signal });
}

export type Link = "connecting" | "live" | "lost";

/**
 * Stream reads the views of the run from the server, and the lines of its log, each once and in order. The browser reconnects by
 * itself with the last position; where it gives up (the server was gone), a new connection has that position in its address.
 */
export class Stream {
  link: Link = "connecting";
  /** refused is why the server does not show the run. */
  refused = "";
  received = 0;
  repeats = 0;
  connections = 0;
  paused = false;
  private source?: EventSource;
  private again = 0;
  private timer?: number;
  private slot?: Slot;
  private waiting?: AbortController;
  private turns?: number;
  private readonly run: string;
  private readonly take: (data: string) => void;
  private readonly show: (data: string) => void;
  private readonly changed: () => void;

  constructor(run: string, take: (data: string) => void, show: (data: string) => void, changed: () => void) {
    this.run = run;
    this.take = take;
    this.show = show;
    this.changed = changed;
  }

  open(): void {
    if (this.slot) this.connect();
    else void this.wait();
  }

  /** wait connects once there is a place for the connection. It gives the place up from time to time where another page waits for it. */
  private async wait(): Promise<void> {
    const waiting = (this.waiting = new AbortController());
    const got = await slot(waiting.signal).catch(() => null);
    if (!got) return;
    if (waiting.signal.aborted) return got.release();
    this.slot = got;
    this.turns = setInterval(() => void this.share(got.name), turn);
    this.connect();
  }

  private async share(name: string): Promise<void> {
    const { pending } = await navigator.locks.query();
    if (this.slot?.name !== name || !pending?.some((l) => l.name === name)) return;
    this.pause();
    this.resume();
  }

  private connect(): void {
    this.source?.close();
    const from = this.received ? `after=${this.received}` : `newest=${newest}`;
    const source = new EventSource(`${root}${at("runs", this.run, "events")}?${from}`);
    source.onopen = () => {
      this.connections++;
      this.again = 0;
      this.say("live");
    };
    source.onmessage = (m) => this.message(m);
    source.addEventListener("view", (m) => this.show(m.data));
    source.onerror = () => this.failed(source);
    this.source = source;
  }

  close(): void {
    this.waiting?.abort();
    clearInterval(this.turns);
    this.slot?.release();
    this.slot = undefined;
    this.source?.close();
    this.source = undefined;
    clearTimeout(this.timer);
  }

  /** pause gives the connection up until resume, which goes on where it was. */
  pause(): void {
    this.close();
    this.paused = true;
    this.say("connecting");
  }

  resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.open();
  }

  private message(m: MessageEvent<string>): void {
    const pos = Number(m.lastEventId);
    if (pos <= this.received) {
      this.repeats++;
      return;
    }
    this.received = pos;
    this.take(m.data);
  }

  private failed(source: EventSource): void {
    if (source !== this.source) return;
    if (source.readyState !== EventSource.CLOSED) return this.say("connecting");
    this.say("lost");
    this.later();
  }

  private later(): void {
    this.again = Math.min(this.again + 1, 10);
    this.timer = setTimeout(() => void this.retry(), 300 * this.again);
  }

  /** retry opens a new connection, unless the server says that there is no such run. */
  private async retry(): Promise<void> {
    try {
      await get(at("runs", this.run));
      this.refused = "";
      if (this.source) this.open();
    } catch (err) {
      if (err instanceof Refused) this.refused = words(err);
      if (this.source) this.later();
      this.changed();
    }
  }

  private say(link: Link): void {
    this.link = link;
    this.changed();
  }
}
