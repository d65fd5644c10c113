package feed

import (
	"cmp"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// pullLine words what is about to be written to a forge, or what it answered.
func pullLine(d run.PullData) Line {
	name := "pull request from " + d.Head
	switch {
	case d.Mark != nil:
		return sentence(Quiet, "%s: %s: %s%s", name, d.Mark.ID, d.Mark.Did, text.Because(d.Mark.Text))
	case d.Doing == run.PullPush:
		return sentence(Quiet, "%s: push %.12s of %s", name, d.Commit, text.Count(len(d.Tasks), "task"))
	case d.Doing != "":
		return sentence(Quiet, "%s: %s", name, d.Doing)
	case d.State == run.PullStateMerged:
		return sentence(Good, "%s is merged%s", name, text.Because(d.Reason))
	case d.State == run.PullStateClosed:
		return sentence(Warn, "%s is closed%s", name, text.Because(d.Reason))
	case d.State != "" || d.Reason != "":
		return sentence(Plain, "%s: %s%s", name, strings.TrimSpace(cmp.Or(d.State, "waits")+" "+d.URL), text.Because(d.Reason))
	}
	if d.HeadSHA == "" {
		return sentence(Quiet, "%s: done", name)
	}
	return sentence(Quiet, "%s: at %.12s", name, d.HeadSHA)
}
