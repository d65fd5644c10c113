package brief

import (
	"context"
	"encoding/json"
	"fmt"

	"divisi/contextscope/compile"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// maxJudged bounds, in bytes, the diff that a judge is shown; the rest is in its tree.
const maxJudged = 200 << 10

// verdictSchema is the output of a tester's model.
const verdictSchema = `{"type": "object", "required": ["verdict", "reasons"], "properties": {
	"verdict": {"type": "string", "enum": ["pass", "fail"], "description": "pass when the patch is the requested change."},
	"reasons": {"type": "array", "items": {"type": "string"}, "description": "One error each, with its place; empty on pass."}
}}`

// showPatch puts the patch into a judge's brief, tells it to go through the constraints one by one, and wants a verdict where
// the role wants nothing else.
func showPatch(ctx context.Context, tree Tree, a *wire.Assignment, in *compile.Input) error {
	if len(a.Role.Output) == 0 {
		a.Role.Output = json.RawMessage(verdictSchema)
	}
	p, most := a.Patch, maxJudged
	if in.Window > 0 { // half of what is left: the judge looks around too, and can read the rest in its tree
		left := in.Window
		for _, s := range compile.Fixed(*in) {
			left -= s.Tokens
		}
		most = min(most, max(minJudged, left/2*4))
	}
	diff, cut, err := tree.Diff(ctx, p.Base, p.Commit, most)
	if err != nil {
		return fmt.Errorf("read the patch of %s: %w", a.Agent(), err)
	}
	if cut {
		diff += "\n[… more; the whole is in your tree]\n"
	}
	in.Brief.Inputs = append(in.Brief.Inputs, compile.Handoff{
		Task: a.Task.ID, Role: "the-patch-to-judge", Handoff: spec.Handoff{Summary: diff},
	})
	if len(a.Task.Constraints) > 0 {
		in.Brief.Notes = append(in.Brief.Notes, checklist)
	}
	return nil
}

// checklist tells a judge what the constraints are to it.
const checklist = "The constraints are your checklist. Judge the patch by each of them and answer in the argument constraints, " +
	"by number: kept is whether the patch keeps it, note is your reason, with its place. What the author says of them is a " +
	"claim. One that is not kept is a fail."

// minJudged is how much of a diff, in bytes, even the smallest window shows.
const minJudged = 4 << 10
