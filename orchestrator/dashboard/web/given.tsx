import { h, type ComponentChild } from "preact";
import { type Answers, keyOf } from "./answers";
import { visible } from "./foreign";
import { needPath, taskPath } from "./place";
import { name } from "./words";

/** Given are the last answers of this page. The run says whether one can still be taken back. */
export function Given(p: { answers: Answers }): ComponentChild {
  const { given } = p.answers;
  if (given.length === 0) return null;
  return (
    <details class="panel given">
      <summary>Your last answers <small>{given.length}; each can be taken back until the run has acted on it</small></summary>
      <ul>{given.map((g) => (
        <li key={keyOf(g.need)}>
          <b>{g.answer.option}</b> for <a href={g.need.about && g.need.kind !== "template" ? taskPath(g.need.run, g.need.about) : needPath(g.need.run, g.need.id)}>
            {visible(name(g.need.about || g.need.id))}</a> {g.answer.text && <span>“{visible(g.answer.text)}”</span>}
          {" "}<button type="button" class="more" aria-label={`Take back the answer for ${g.need.about || g.need.id}`} onClick={() => void p.answers.back(g.need)}>Take back</button>
        </li>
      ))}</ul>
    </details>
  );
}
