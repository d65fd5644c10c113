import { Component, h, type ComponentChild } from "preact";
import { get, Refused, words } from "./api";

/** done is called each time that the answer is there. */
interface Props<T> { path: string; again?: unknown; draw: (got: T, reload: () => void) => ComponentChild; done?: () => void }
/** final is set where it is no failure: there is nothing to show, and asking again does not change that. */
interface State<T> { got?: T; fault: string; final?: boolean }

/** Load asks the server for something and draws the answer; while it asks again, the answer before stays. */
export class Load<T> extends Component<Props<T>, State<T>> {
  state: State<T> = { fault: "" };
  private asked = 0;

  componentDidMount(): void {
    void this.load();
  }

  componentDidUpdate(was: Props<T>): void {
    if (was.path !== this.props.path) this.setState({ got: undefined, fault: "" });
    if (was.path !== this.props.path || was.again !== this.props.again) void this.load();
  }

  componentWillUnmount(): void {
    this.asked++;
  }

  private async load(): Promise<void> {
    const mine = ++this.asked;
    try {
      const got = await get<T>(this.props.path);
      if (mine !== this.asked) return;
      this.setState({ got, fault: "" });
      this.props.done?.();
    } catch (err) {
      if (mine === this.asked) this.setState({ fault: words(err), final: err instanceof Refused && err.status === 409 });
    }
  }

  render(): ComponentChild {
    const { got, fault, final } = this.state;
    return (
      <div class="load">
        {fault && final && <p class="empty" role="status">{fault}</p>}
        {fault && !final && <p class="fault" role="alert">{fault} <button type="button" class="more" onClick={() => void this.load()}>Try again</button></p>}
        {got !== undefined ? this.props.draw(got, () => void this.load()) : !fault && <p class="empty">Loading …</p>}
      </div>
    );
  }
}
