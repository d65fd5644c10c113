import { Component, h, type ComponentChild } from "preact";
import { bytes } from "./words";

/** Characters that a terminal obeys, or that turn text round or hide in it: they are shown, not obeyed. */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu;

/** visible is foreign text with its control characters as marks. */
export function visible(text: string): ComponentChild {
  if (text.search(controls) < 0) return text;
  const parts: ComponentChild[] = [];
  let end = 0;
  for (const m of text.matchAll(controls)) {
    parts.push(text.slice(end, m.index), <span class="control">{sign(m[0])}</span>);
    end = m.index + m[0].length;
  }
  parts.push(text.slice(end));
  return parts;
}

function sign(c: string): string {
  const code = c.codePointAt(0)!.toString(16);
  return code.length > 2 ? `\\u{${code}}` : `\\x${code.padStart(2, "0")}`;
}

/** What is drawn of a long text before a person asks for all of it, in characters. */
const most = 60_000;

/** Foreign is text of a repository, a tool or an agent: its beginning where it is long, with a button for the rest. */
export class Foreign extends Component<{ text: string; class?: string; label?: string }, { all: boolean }> {
  state = { all: false };

  render(): ComponentChild {
    const { text, label } = this.props;
    const cut = text.length > most && !this.state.all;
    return (
      <div class={`foreign ${this.props.class ?? ""}`}>
        <pre tabIndex={0} aria-label={label}>{visible(cut ? text.slice(0, most) : text)}</pre>
        {cut && <button type="button" class="more" onClick={() => this.setState({ all: true })}>Show all ({bytes(text.length)})</button>}
      </div>
    );
  }
}
