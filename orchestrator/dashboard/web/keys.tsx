import { Component, h, type ComponentChild } from "preact";
import { Modal } from "./modal";

/** Key is what a key does: press is told which of its keys it was. */
export interface Key { keys: string; show?: string; help: string; press: (key: string) => void }

/** How long what is shown is there before a click or an Enter answers it, in milliseconds: a second tap is sooner. */
export const tap = 400;

const there: Keys[] = [];

/** Keys has keys work for as long as it is in the page. Those that came last go first, and those of the whole page last. */
export class Keys extends Component<{ list: Key[]; page?: boolean }> {
  componentDidMount(): void {
    if (this.props.page) there.push(this);
    else there.unshift(this);
  }

  componentWillUnmount(): void {
    there.splice(there.indexOf(this), 1);
  }

  render(): ComponentChild {
    return null;
  }
}

export function listen(): void {
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
    const target = e.target as HTMLElement;
    const typing = target.matches("input:not([type=checkbox]), textarea, select");
    if (typing && e.key === "Escape") return target.blur();
    if (typing) return;
    const name = { Escape: "␛", Enter: "⏎" }[e.key] ?? e.key;
    if (e.repeat && !"jk".includes(name)) return; // a key that is held down
    const found = name.length === 1 && there.flatMap((k) => k.props.list).find((k) => k.keys.includes(name));
    if (!found) return;
    e.preventDefault();
    found.press(name);
  });
}

/** move puts the focus to the next element (or the one before) of the list that has the focus, or of the page's first list. */
export function move(by: number): void {
  const now = document.activeElement?.closest<HTMLElement>("[data-j]");
  const list = now?.closest("[data-list]") ?? document.querySelector("main [data-list]");
  const all = [...(list?.querySelectorAll<HTMLElement>("[data-j]") ?? [])];
  const to = all[now ? Math.max(0, Math.min(all.length - 1, all.indexOf(now) + by)) : 0];
  to?.focus({ preventScroll: true });
  to?.scrollIntoView({ block: "nearest" });
}

export function search(): void {
  const fields = [...document.querySelectorAll<HTMLInputElement>("[data-search]")];
  const field = fields.find((f) => f.offsetParent);
  field?.focus();
  field?.select();
}

/** Help lists the keys that work where the page is. */
export function Help(p: { close: () => void }): ComponentChild {
  const list = there.flatMap((k) => k.props.list);
  return (
    <Modal title="Keys" close={p.close}>
      <dl class="keys">
        {list.map((k) => <div><dt><kbd>{k.show ?? [...k.keys].join(" ")}</kbd></dt><dd>{k.help}</dd></div>)}
      </dl>
    </Modal>
  );
}
