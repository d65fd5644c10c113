import { Component, h, type ComponentChild } from "preact";
import { visible } from "./foreign";
import { count } from "./words";

interface File { head: string[]; name: string; lines: string[] }

/** files cuts a diff as git prints it into its files. */
export function files(diff: string): File[] {
  const all: File[] = [];
  let at: File | undefined;
  let body = false;
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    if (line.startsWith("diff --git ") || !at) {
      at = { head: [], name: named(line), lines: [] };
      all.push(at);
      body = false;
      if (line.startsWith("diff --git ")) continue;
    }
    if (line.startsWith("@@")) body = true;
    if (body) at.lines.push(line);
    else at.head.push(line);
  }
  return all;
}

function named(line: string): string {
  return line.match(/ b\/(.*)$/)?.[1] ?? line.replace(/^diff --git /, "");
}

/** tone is the class of a line of a diff. */
function tone(line: string): string {
  if (line.startsWith("@@")) return "hunk";
  return line[0] === "+" ? "plus" : line[0] === "-" ? "minus" : line[0] === "\\" ? "note" : "same";
}

const most = 400;

/** Diff draws a patch file by file. */
export function Diff(p: { diff: string }): ComponentChild {
  if (!p.diff) return <p class="empty">No change.</p>;
  return <div class="diff">{files(p.diff).map((f, i) => <OneFile key={i} file={f} />)}</div>;
}

class OneFile extends Component<{ file: File }, { all: boolean }> {
  state = { all: false };

  render(): ComponentChild {
    const { file } = this.props;
    const cut = file.lines.length > most && !this.state.all;
    const lines = cut ? file.lines.slice(0, most) : file.lines;
    const plus = file.lines.filter((l) => l[0] === "+").length;
    const minus = file.lines.filter((l) => l[0] === "-").length;
    return (
      <section class="file" aria-label={file.name}>
        <h4><code>{visible(file.name)}</code> <ins>+{plus}</ins> <del>−{minus}</del>{kind(file)}</h4>
        <pre tabIndex={0} aria-label={`Change of ${file.name}`}>{lines.map((l) => <span class={tone(l)}>{visible(l) || " "}{"\n"}</span>)}</pre>
        {cut && <button type="button" class="more" onClick={() => this.setState({ all: true })}>Show all {count(file.lines.length)} lines</button>}
      </section>
    );
  }
}

/** kind tells what a change of lines does not: a new file, a mode, a binary. */
function kind(f: File): ComponentChild {
  const words = f.head.filter((l) => /^(new|deleted|old|rename|copy|similarity|Binary)/.test(l));
  return words.length > 0 && <small>{visible(words.join(", "))}</small>;
}
