import { Component, h, type ComponentChild } from "preact";

interface Props<T> {
  items: T[];
  /** rowVar names the CSS variable that holds a row's height in pixels. */
  rowVar: string;
  keyOf: (item: T) => string | number;
  draw: (item: T) => ComponentChild;
  label: string;
  role: "list" | "log";
  /** follow keeps the newest row in view; onFollow is told when a person scrolls away or back. */
  follow?: boolean;
  onFollow?: (follow: boolean) => void;
  empty: string;
  /** show is the number of an item to bring into view, each time that shown changes. */
  show?: number;
  shown?: unknown;
  /** added counts the items that were put before all others, less those that were taken from there: what a person reads stays. */
  added?: number;
}

interface Seen { top: number; height: number; row: number }

const spare = 8;

/** List shows a window of a list of any length: only the rows in sight (and a few spare ones) are in the page. */
export class List<T> extends Component<Props<T>, Seen> {
  state: Seen = { top: 0, height: 400, row: 22 };
  private box: HTMLElement | null = null;
  private watch?: ResizeObserver;
  /** The count of added items for which the box stands as it does. */
  private at = this.props.added ?? 0;
  /** What the box was like when it was last put to its end: only a scroll in an unchanged box is a person's. */
  private stuck = { top: 0, all: 0, height: 0 };

  componentDidMount(): void {
    this.watch = new ResizeObserver(() => this.measure());
    if (this.box) this.watch.observe(this.box);
    this.measure();
    this.bring();
  }

  componentDidUpdate(was: Props<T>): void {
    this.hold();
    if (this.moved()) this.stick();
    if (was.shown !== this.props.shown) this.bring();
  }

  /** bring scrolls to the item that is to be shown. */
  private bring(): void {
    const { show = -1 } = this.props;
    if (!this.box || show < 0) return;
    this.box.scrollTop = Math.max(0, (show + 0.5) * this.state.row - this.box.clientHeight / 2);
    this.measure();
  }

  /** hold moves the box along with what it shows, where rows were put before it. */
  private hold(): void {
    const { added = 0 } = this.props;
    const by = added - this.at;
    this.at = added;
    if (!by || !this.box || this.props.follow) return;
    this.box.scrollTop += by * this.state.row;
    this.measure();
  }

  componentWillUnmount(): void {
    this.watch?.disconnect();
  }

  private measure(): void {
    const box = this.box;
    if (!box) return;
    const row = parseFloat(getComputedStyle(box).getPropertyValue(this.props.rowVar)) || 22;
    const next = { height: box.clientHeight, row, top: box.scrollTop };
    const was = this.state;
    if (next.height !== was.height || next.row !== was.row || Math.abs(next.top - was.top) >= row) this.setState(next);
    if (this.moved()) this.stick();
  }

  /** moved reports whether the box or its content has changed its size since it was put to its end. */
  private moved(): boolean {
    const { all, height } = this.stuck;
    return !!this.box && (this.box.scrollHeight !== all || this.box.clientHeight !== height);
  }

  private stick(): void {
    const box = this.box;
    if (!box || !this.props.follow) return;
    box.scrollTop = box.scrollHeight;
    this.stuck = { top: box.scrollTop, all: box.scrollHeight, height: box.clientHeight };
  }

  private scrolled(): void {
    const box = this.box;
    if (!box) return;
    const { follow, onFollow } = this.props;
    const { row } = this.state;
    const bottom = box.scrollHeight - box.scrollTop - box.clientHeight < row / 2;
    if (follow && !this.moved() && box.scrollTop < this.stuck.top - row / 2) onFollow?.(false);
    if (!follow && bottom && box.scrollHeight > box.clientHeight) onFollow?.(true);
    this.measure();
  }

  render(): ComponentChild {
    const { items, draw, keyOf, label, role, follow, empty, rowVar, added = 0 } = this.props;
    const { height, row } = this.state;
    const fit = Math.ceil(height / row);
    const end = Math.max(0, items.length - fit);
    const first = Math.max(0, Math.min(follow ? end : Math.floor(this.state.top / row) + added - this.at, end) - spare);
    const rows = items.slice(first, first + fit + 2 * spare);
    return (
      <div class="list" role={role} aria-live="off" aria-label={label} tabIndex={0} data-list ref={(e: HTMLElement | null) => void (this.box = e)}
        onScroll={() => this.scrolled()}>
        {items.length === 0 && <p class="empty">{empty}</p>}
        <div class="all" style={{ height: `calc(var(${rowVar}) * ${items.length} * 1px)` }}>
          <div class="seen" style={{ top: `calc(var(${rowVar}) * ${first} * 1px)` }}>
            {rows.map((item) => <div class="cell" role={role === "list" ? "listitem" : undefined} key={keyOf(item)}>{draw(item)}</div>)}
          </div>
        </div>
      </div>
    );
  }
}
