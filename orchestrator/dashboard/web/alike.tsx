import { Fragment, h, type ComponentChild } from "preact";
import { keyOf } from "./answers";
import { visible } from "./foreign";
import type { Need } from "./messages";
import { needPath, taskPath } from "./place";

/** shape is what a decision changes: its files, and how many lines. */
export function shape(n: Need): ComponentChild {
  const files = n.files ?? [];
  return (
    <Fragment>
      {files.slice(0, 2).map((f) => <code title={f}>{visible(f)}</code>)}
      {files.length > 2 && <span title={files.join("\n")}>and {files.length - 2} more</span>}
      {!!(n.added || n.deleted) && <span class="lines"><ins>+{n.added ?? 0}</ins> <del>−{n.deleted ?? 0}</del></span>}
    </Fragment>
  );
}

/** AlikeList are the decisions that one answer is for, and nothing that came later. */
export function AlikeList(p: { needs: Need[]; later: number; take: () => void }): ComponentChild {
  return (
    <Fragment>
      <p class="note">Alike: the same changed lines, the same kind of task and findings; paths and words far from the change differ.</p>
      <ol>{p.needs.map((n) => (
        <li key={keyOf(n)}><a href={n.about && n.kind !== "template" ? taskPath(n.run, n.about) : needPath(n.run, n.id)}>{visible(n.about || n.id)}</a> {shape(n)}</li>
      ))}</ol>
      {p.later > 0 && <p class="note" role="status">{p.later} more came after you ticked the box: the answer is not for them.
        {" "}<button type="button" class="more" onClick={p.take}>Take them in</button></p>}
      <p class="note">Sent ten seconds after you answer; until then you can undo it.</p>
    </Fragment>
  );
}
