package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/acceptance/testsource"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
)

// Risk is a landed task that a person reads first, and why.
type Risk struct {
	Task    string   `json:"task"`
	Title   string   `json:"title,omitempty"`
	Why     []string `json:"why"`
	Files   int      `json:"files"`
	Added   int      `json:"added"`
	Deleted int      `json:"deleted"`

	// rank has a bit for each kind of reason: a higher one weighs more than all lower ones together.
	rank int
}

// The kinds of reasons, the lightest first.
const (
	large  = 1 << iota
	unread // and asks for no proof, such as prose
	unlike
	tests
	untried
	accepted
	unverified
)

// String is the task in a line.
func (r Risk) String() string {
	return fmt.Sprintf("%s (+%d -%d): %s", r.Task, r.Added, r.Deleted, strings.Join(r.Why, "; "))
}

// A change is large from manyLines on, or from someLines on where it has muchMore times the lines that half of the others have.
const (
	manyLines, someLines, muchMore = 400, 50, 4
	maxFiles                       = 3
)

// Risks are the landed tasks that a person reads first, the riskiest first: unread or unverified, accepted in spite of a doubt,
// with changed tests (those that were not tried first), unlike the other shards, large. Tasks with the same reasons come by their
// size. One without a reason is not among them.
func Risks(s *run.State) (out []Risk) {
	half := median(s)
	_, why := s.Untried()
	for t := range s.Tasks.All() {
		if t.State != run.TaskLanded || len(t.Drops) > 0 {
			continue
		}
		r := Risk{
			Task: t.Task.ID, Title: t.Task.Title, Files: t.Landed.Files, Added: t.Landed.Added, Deleted: t.Landed.Deleted,
		}
		r.weigh(s, t, half, why[t.Task.ID])
		if r.rank > 0 {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Risk) int {
		return cmp.Or(b.rank-a.rank, (b.Added+b.Deleted)-(a.Added+a.Deleted))
	})
	return out
}

// becausef adds a reason of a kind.
func (r *Risk) becausef(kind int, format string, args ...any) {
	r.rank |= kind
	r.Why = append(r.Why, text.Clip(text.OneLine(fmt.Sprintf(format, args...)), text.MaxLine))
}

func (r *Risk) weigh(s *run.State, t *run.Task, half int, notTried string) {
	if t.Landed.Unverified != "" {
		r.becausef(unverified, "unverified: %s", t.Landed.Unverified)
	}
	for _, d := range t.Doubts {
		if d.Attempt != t.Attempt || !d.Accepted() || d.Size && d.Answer.By == run.ByPolicy {
			continue
		}
		by := decision.By("accepted by "+d.Answer.By, d.Answer)
		if d.Unlike != nil {
			r.becausef(accepted|unlike, "unlike its siblings: %s (%s)", landing.UnlikeIn(d.Unlike[0]), by)
			continue
		}
		r.becausef(accepted, "%s: %s", by, text.Some(d.Evidence, 1))
	}
	switch files := text.Some(changedTests(t), maxFiles); {
	case files != "" && notTried != "":
		r.becausef(untried|tests, "changes tests that were not tried (%s): %s", notTried, files)
	case files != "":
		r.becausef(tests, "changes tests: %s", files)
	}
	if edits := s.Unlike[t.Task.ID]; len(edits) > 0 {
		r.becausef(unlike, "unlike its siblings: %s", landing.UnlikeIn(edits[0]))
	}
	if files := t.Landed.Unread; len(files) > 0 && t.Landed.Unverified == "" {
		r.becausef(unread, "no gate reads %s", files[0].Path)
	}
	if n := t.Landed.Added + t.Landed.Deleted; n >= manyLines || n >= someLines && n > muchMore*half {
		r.becausef(large, "%d lines", n)
	}
}

// changedTests are the files with tests that a task has changed, without those that it has made.
func changedTests(t *run.Task) (files []string) {
	var made []string
	for _, k := range t.Patches() {
		made = append(made, k.Patch.Created...)
	}
	for _, file := range t.Changes() {
		if testsource.IsTest(file) && !slices.Contains(made, file) {
			files = append(files, file)
		}
	}
	return files
}

// median is how many lines the middle one of the landed tasks changes.
func median(s *run.State) int {
	var lines []int
	for t := range s.Tasks.All() {
		if t.State == run.TaskLanded {
			lines = append(lines, t.Landed.Added+t.Landed.Deleted)
		}
	}
	if slices.Sort(lines); len(lines) == 0 {
		return 0
	}
	return lines[len(lines)/2]
}
