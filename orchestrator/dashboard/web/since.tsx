import { Component, h, type ComponentChild } from "preact";
import { at, get } from "./api";
import { visible } from "./foreign";
import { keep, kept } from "./keep";
import { age } from "./words";

/** How long a person must be away, in milliseconds, before the page tells what happened. */
const away = 5 * 60_000;

/** Since tells a person who comes back what happened meanwhile. */
export class Since extends Component<{ run: string }, { left: number; lines: string[] }> {
  state = { left: 0, lines: [] as string[] };
  private timer?: number;
  private readonly key = "left:" + this.props.run;
  private readonly leave = () => document.hidden ? keep(this.key, Date.now()) : this.back();
  private readonly end = () => keep(this.key, Date.now());

  componentDidMount(): void {
    this.back();
    document.addEventListener("visibilitychange", this.leave);
    addEventListener("pagehide", this.end);
    this.timer = setInterval(() => document.hidden || keep(this.key, Date.now()), 15_000);
  }

  componentWillUnmount(): void {
    document.removeEventListener("visibilitychange", this.leave);
    removeEventListener("pagehide", this.end);
    clearInterval(this.timer);
    this.end();
  }

  private back(): void {
    const left = kept(this.key, 0);
    keep(this.key, Date.now());
    if (left && Date.now() - left > away) void this.load(this.state.left || left);
  }

  private async load(left: number): Promise<void> {
    const path = `${at("runs", this.props.run, "since")}?time=${left}`;
    const got = await get<{ lines?: string[] }>(path).catch((err: unknown) => ({ lines: [`What happened could not be read: ${String(err)}`] }));
    this.setState({ left, lines: got.lines ?? [] });
  }

  render(): ComponentChild {
    const { left, lines } = this.state;
    if (lines.length === 0) return null;
    return (
      <section class="since" aria-label="Since you left">
        <h2>Since you left <small>{age(Date.now() - left)} ago</small>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => this.setState({ left: 0, lines: [] })}>✕</button></h2>
        <ul>{lines.map((l) => <li>{visible(l)}</li>)}</ul>
      </section>
    );
  }
}
