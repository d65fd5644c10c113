// Package result computes the end of a run for people: what was asked, what came and by what it is proven, where it changes
// files, what deserves a look first, and what is left. Its input is the state of a run that has ended; its output is data that
// displays draw. It reads no repository, and decides nothing.
package result

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view/advice"
)

// The most that a result lists of each; the rest is counted.
const (
	maxDirectories = 12
	maxRisks       = 10
	maxLeft        = 20
	maxTitles      = 3
	maxReason      = 120 // in characters; the table of tasks has all of it
)

// Result is the end of a run.
type Result struct {
	// Asked is the goal, or the name of the plan file with the titles of its tasks.
	Asked string  `json:"asked"`
	Tasks int     `json:"tasks"`
	Came  []Grade `json:"came,omitempty"`
	// Files, Added and Deleted are those of all landed patches, each on its own.
	Files       int         `json:"files"`
	Added       int         `json:"added"`
	Deleted     int         `json:"deleted"`
	Directories []Directory `json:"directories,omitempty"`
	// Risks are the landed tasks to read first, the riskiest first; RisksMore counts those that are not listed.
	Risks     []Risk `json:"risks,omitempty"`
	RisksMore int    `json:"risks_more,omitempty"`
	// Left are the tasks that brought nothing, each with its next step; LeftMore counts those that are not listed.
	Left     []Left `json:"left,omitempty"`
	LeftMore int    `json:"left_more,omitempty"`
}

// Grade is how many tasks ended in one way, and by what, or why.
type Grade struct {
	Tasks int    `json:"tasks"`
	Grade string `json:"grade"`
	By    string `json:"by,omitempty"`
}

// String is the grade in a line.
func (g Grade) String() string {
	return fmt.Sprintf("%d %s%s", g.Tasks, g.Grade, text.Because(g.By))
}

// Directory is what landed tasks changed that change files below it alone: Others is how many directories it stands for, where
// there are too many for a list.
type Directory struct {
	Name    string `json:"name"`
	Others  int    `json:"others,omitempty"`
	Tasks   int    `json:"tasks"`
	Files   int    `json:"files"`
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
}

// String is the directory in a line.
func (d Directory) String() string {
	return fmt.Sprintf("%s: %s, +%d -%d, %s", d.Name, text.Count(d.Files, "file"), d.Added, d.Deleted,
		text.Count(d.Tasks, "task"))
}

func (d *Directory) lines() int { return d.Added + d.Deleted }

func (d *Directory) add(o Directory) {
	d.Tasks, d.Files, d.Added, d.Deleted = d.Tasks+o.Tasks, d.Files+o.Files, d.Added+o.Added, d.Deleted+o.Deleted
}

// Left is a task that brought nothing, and the next step of a person for it.
type Left struct {
	Task   string     `json:"task"`
	State  string     `json:"state"`
	Reason string     `json:"reason,omitempty"`
	Next   advice.Way `json:"next"`
}

// String is the task in a line.
func (l Left) String() string {
	is, does := l.Lines()
	return is + "; " + does
}

// Lines are why it brought nothing, and the next step.
func (l Left) Lines() (is, does string) {
	return l.Task + " is " + l.State + text.Because(text.Short(l.Reason, maxReason)), l.Next.Why + " with: " + l.Next.Command
}

// Of is the result of a run; nil while it has not ended, and for one without tasks.
func Of(s *run.State) *Result {
	if !s.Status.Ended() || len(s.Tasks.Order) == 0 || s.Spec.Trial {
		return nil
	}
	r := &Result{Asked: asked(s), Tasks: len(s.Tasks.Order), Came: came(s)}
	var landed []*run.Task
	for t := range s.Tasks.All() {
		switch t.State {
		case run.TaskLanded:
			if len(t.Drops) == 0 { // one that takes others out leaves what was there before them
				landed = append(landed, t)
				r.Files, r.Added, r.Deleted = r.Files+t.Landed.Files, r.Added+t.Landed.Added, r.Deleted+t.Landed.Deleted
			}
		case run.TaskDone, run.TaskSkipped, run.TaskDropped: // as a person, or the task, has decided
		default:
			r.Left = append(r.Left, Left{t.Task.ID, string(t.State), t.Reason, advice.For(s, t)})
		}
	}
	r.Directories = directories(landed)
	r.Risks, r.RisksMore = few(Risks(s), maxRisks)
	r.Left, r.LeftMore = few(r.Left, maxLeft)
	return r
}

// few are the first of a list, and how many the others are.
func few[T any](list []T, most int) ([]T, int) {
	n := min(len(list), most)
	return list[:n], len(list) - n
}

// asked is the goal. A plan without one has the name of its file, which tells little.
func asked(s *run.State) string {
	if s.Spec.Plan == nil || s.Spec.Plan.Goal != "" {
		return s.Spec.Goal
	}
	var titles []string
	for _, t := range s.Spec.Plan.Tasks {
		titles = append(titles, cmp.Or(t.Title, t.ID))
	}
	return s.Spec.Goal + ": " + text.Some(titles, maxTitles)
}

// came counts the tasks that ended well, by their proof.
func came(s *run.State) (grades []Grade) {
	n := map[string]int{}
	const proven, better, unverified, unchanged, dropped = "landed, proven by gates", "landed as better", "landed unverified",
		"needed no change", "taken out again"
	for t := range s.Tasks.All() {
		switch {
		case t.State == run.TaskDone:
			n[unchanged]++
		case t.State == run.TaskDropped:
			n[dropped]++
		case t.State != run.TaskLanded:
		case t.Landed.Unverified != "":
			n[unverified]++
		case s.Better(t):
			n[better]++
		default:
			n[proven]++
		}
	}
	for _, g := range []Grade{
		{Grade: proven, By: provers(s)},
		{Grade: better, By: proof.BetterLanded(&s.Agenda, &s.Branch)},
		{Grade: unverified, By: proof.UnverifiedLanded(&s.Agenda, &s.Branch)},
		{Grade: unchanged},
		{Grade: dropped},
	} {
		if g.Tasks = n[g.Grade]; g.Tasks > 0 {
			grades = append(grades, g)
		}
	}
	return grades
}

// provers names the gates that proved what landed: the final ones that did not fail, else those of its batches.
func provers(s *run.State) string {
	if len(s.Final) == 0 {
		return strings.Join(s.Spec.GateNames(), ", ")
	}
	var names []string
	for i := range s.Final {
		if s.Final[i].Verdict != spec.VerdictFail {
			names = append(names, s.Final[i].Gate)
		}
	}
	return strings.Join(names, ", ")
}

// directories sums landed tasks by the directory that all their files are in, the most lines first.
func directories(landed []*run.Task) (out []Directory) {
	by := map[string]*Directory{}
	for _, t := range landed {
		name := common(t.Changes())
		if by[name] == nil {
			by[name] = &Directory{Name: name}
		}
		by[name].add(Directory{Tasks: 1, Files: t.Landed.Files, Added: t.Landed.Added, Deleted: t.Landed.Deleted})
	}
	for _, d := range by {
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b Directory) int { return cmp.Or(b.lines()-a.lines(), strings.Compare(a.Name, b.Name)) })
	if len(out) <= maxDirectories {
		return out
	}
	rest := Directory{Others: len(out) - maxDirectories + 1}
	rest.Name = text.Count(rest.Others, "other")
	for _, d := range out[maxDirectories-1:] {
		rest.add(d)
	}
	return append(out[:maxDirectories-1], rest)
}

// common is the deepest directory that has all of some files; "." for none.
func common(files []string) string {
	dir := ""
	for i, file := range files {
		if at := path.Dir(file); i == 0 {
			dir = at
		}
		for dir != "." && !strings.HasPrefix(file, dir+"/") {
			dir = path.Dir(dir)
		}
	}
	return cmp.Or(dir, ".")
}
