package spec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"divisi/internal/lazyregexp"
)

var objectID = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// Validate returns every fault of a result: what a worker sent is checked before it enters the log.
func (r *Result) Validate() []Problem {
	v := &problems{}
	v.bounds("", reflect.ValueOf(r), 0, 0)
	if r.Task == "" {
		v.addf("task", "", "the result names no task")
	}
	v.atLeast("attempt", r.Attempt, 1)
	v.atLeast("delivery", r.Delivery, 1)
	r.statusProblems(v)
	if len(r.Handoff.Output) > 0 && !json.Valid(r.Handoff.Output) {
		v.addf("handoff.output", "", "the output is not JSON")
	}
	for i, c := range r.Handoff.Constraints {
		at := fmt.Sprintf("handoff.constraints[%d]", i)
		if c.Text == "" {
			v.addf(at+".text", "", "the echo names no constraint")
		}
		if !c.Kept && c.Note == "" {
			v.addf(at+".note", "", "a constraint was broken without a reason")
		}
	}
	r.Patch.problems(v)
	r.Usage.problems(v)
	for i := range r.Receipts {
		r.Receipts[i].problems(v, fmt.Sprintf("receipts[%d]", i))
	}
	if s := r.Shared; s != nil {
		v.atLeast("shared.tasks", s.Tasks, 2)
	}
	return v.list
}

func (r *Result) statusProblems(v *problems) {
	if r.Status == "" {
		v.addf("status", "", "the result has no status")
	}
	v.oneOf("status", "status", string(r.Status), string(StatusDone), string(StatusFailed), string(StatusBlocked),
		string(StatusTimedOut), string(StatusCancelled))
	switch {
	case r.Status == StatusDone && r.Error != nil:
		v.addf("error", "", "a result that is done carries no error")
	case r.Status == StatusFailed && r.Error == nil:
		v.addf("error", "", "a failed result needs an error")
	}
	if r.Error != nil && r.Error.Class == "" {
		v.addf("error.class", "", "the error has no class")
	}
}

func (p *Patch) problems(v *problems) {
	if p == nil {
		return
	}
	for _, id := range []struct{ path, value string }{
		{"patch.commit", p.Commit}, {"patch.base", p.Base}, {"patch.tree", p.Tree},
	} {
		if !objectID.MatchString(id.value) {
			v.addf(id.path, "", "%q is not an object id", id.value)
		}
	}
	for i, name := range p.Files {
		if problem := placeProblem(name); problem != "" {
			v.addf(fmt.Sprintf("patch.files[%d]", i), "", "%q: %s", name, problem)
		}
	}
	for i, name := range p.Lost {
		if !slices.Contains(p.Files, name) {
			v.addf(fmt.Sprintf("patch.lost[%d]", i), "", "%q is none of its files", name)
		}
	}
}

func (u *Usage) problems(v *problems) {
	if n := Plus(u.Cached, u.Written); n > u.Prompt {
		v.addf("usage.cached", "", "%d cached tokens are more than the prompt's %d", n, u.Prompt)
	}
	if u.WrittenHour > u.Written {
		v.addf("usage.written_hour", "", "%d are more than the %d written", u.WrittenHour, u.Written)
	}
}

func (r *Receipt) problems(v *problems, at string) {
	if r.Gate == "" {
		v.addf(at+".gate", "", "the receipt names no gate")
	}
	if r.Verdict == "" {
		v.addf(at+".verdict", "", "the receipt has no verdict")
	}
	v.oneOf(at+".verdict", "verdict", r.Verdict, VerdictPass, VerdictBetter, VerdictBaseline, VerdictPassage,
		VerdictFail, VerdictUnattributable)
	if r.Kind != "" {
		v.oneOf(at+".kind", "kind", r.Kind, KindTests, KindFindings)
	}
	if r.Version < 0 || r.Version > ReceiptVersion {
		v.addf(at+".version", "", "a newer program has made it: version %d, this program reads up to %d; update this program",
			r.Version, ReceiptVersion)
	}
	if !slices.IsSorted(r.Moved) {
		v.addf(at+".moved", "", "the moved names are not sorted")
	}
	if !slices.IsSorted(r.Hidden) {
		v.addf(at+".hidden", "", "the hidden names are not sorted")
	}
	for i := 1; i < len(r.Signatures); i++ {
		if r.Signatures[i] <= r.Signatures[i-1] {
			v.addf(fmt.Sprintf("%s.signatures[%d]", at, i), "", "the signatures are not sorted and unique")
			break
		}
	}
	if slices.Contains(r.Signatures, "") {
		v.addf(at+".signatures", "", "a signature is empty")
	}
	r.unreadProblems(v, at)
}
