export type Link = "connecting" | "live" | "lost";

/**
 * Stream reads the views of the run from the server, and the lines of its log, each once and in order. The browser reconnects by
 * itself with the last position; where it gives up (the server was gone), a new connection has that position in its address.
 */
export class Stream {
  link: Link = "connecting";
  received = 0;
  repeats = 0;
  connections = 0;
  private source?: EventSource;
  private again = 0;
  private readonly run: string;
  private readonly take: (pos: number, data: string) => void;
  private readonly show: (data: string) => void;
  private readonly changed: () => void;

  constructor(run: string, take: (pos: number, data: string) => void, show: (data: string) => void, changed: () => void) {
    this.run = run;
    this.take = take;
    this.show = show;
    this.changed = changed;
  }

  open(): void {
    this.source?.close();
    const source = new EventSource(`/api/v1/runs/${this.run}/events?after=${this.received}`);
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

  private message(m: MessageEvent<string>): void {
    const pos = Number(m.lastEventId);
    if (pos <= this.received) {
      this.repeats++;
      return;
    }
    this.received = pos;
    this.take(pos, m.data);
  }

  private failed(source: EventSource): void {
    if (source.readyState !== EventSource.CLOSED) return this.say("connecting");
    this.say("lost");
    this.again = Math.min(this.again + 1, 10);
    setTimeout(() => void this.retry(), 300 * this.again);
  }

  /** retry opens a new connection, unless another run is shown at this address by now. */
  private async retry(): Promise<void> {
    try {
      if ((await about()) !== this.run) location.reload();
      else this.open();
    } catch {
      this.again = Math.min(this.again + 1, 10);
      setTimeout(() => void this.retry(), 300 * this.again);
    }
  }

  private say(link: Link): void {
    this.link = link;
    this.changed();
  }
}

/** about asks with which run the page begins. */
export async function about(): Promise<string> {
  const answer = await fetch("/api/v1/me");
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return ((await answer.json()) as { run: string }).run;
}
