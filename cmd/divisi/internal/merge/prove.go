package merge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/gate"
)

// proven is the tree that a merge makes. It proves it where the run has not.
func (m *Command) proven(ctx context.Context, c *checkout, l landed) (string, error) {
	forward := c.has(ctx, "merge-base", "--is-ancestor", c.head, l.Head)
	if m.ffOnly && !forward {
		return "", usage.Errorf("%s has other commits than run %s began with: merge without --ff-only", c.branch, l.Run)
	}
	tree, err := c.merged(ctx, l.Head)
	if errors.Is(err, errConflict) {
		return "", cli.End(cli.CodeParked, fmt.Sprintf("%v; nothing was merged\nMerge by hand: git -C %s merge %s", err,
			text.Shell(c.top), l.Ref))
	}
	ours := c.has(ctx, "merge-base", "--is-ancestor", l.Base, c.head)
	if err != nil || m.unproven || m.dryRun || forward && ours && len(l.Gates) > 0 {
		return tree, err
	}
	if !forward {
		m.Aside(display.Sanitize(fmt.Sprintf("%s has other commits than run %s began with: the gates run on the merged files",
			c.branch, l.Run)))
	}
	why, err := m.unlike(ctx, c, l, tree)
	if err == nil && why != "" {
		err = cli.End(cli.CodeParked, fmt.Sprintf("%s; nothing was merged\nMerge all the same: %s --unproven",
			display.Sanitize(why), m.Calls("divisi merge "+l.Run)))
	}
	return tree, err
}

// unlike is why the gates of a run do not prove a merged tree; "" where they do.
func (m *Command) unlike(ctx context.Context, c *checkout, l landed, tree string) (string, error) {
	if m.At.URL != "" {
		return "the gates of run " + l.Run + " are known on its server alone: nothing proves the merged files", nil
	}
	before, _, err := m.dir().State(ctx, l.Run)
	if err != nil {
		return "", err
	}
	if len(before.Spec.Project.Gates) == 0 {
		return "run " + l.Run + " had no gates: nothing proves the merged files", nil
	}
	names, err := c.git(ctx, "diff", "--name-only", "--no-renames", "-z", l.Base, l.Head)
	if err != nil {
		return "", err
	}
	changed := strings.Split(strings.TrimRight(names, "\x00"), "\x00")
	excluded, err := c.excluded(ctx, l.Head, tree, changed)
	if err != nil {
		return "", err
	}
	commit, err := c.commit(ctx, tree, l.Head)
	if err != nil {
		return "", err
	}
	return m.Prove(ctx, Trial{
		Repo: c.top, Commit: commit, On: c.head, Onto: c.branch, What: "the merged files", Changed: changed, Blind: excluded,
		Whole: true,
	}, before)
}

// Trial is a commit that the gates of a run are to prove.
type Trial struct {
	Repo, Commit string
	// On is the commit that it changes, whose failures are none of it, and Onto what a person calls that. What is what a person
	// calls the changed files.
	On, Onto, What string
	// Changed are the files that the run changed, Blind what is known of them that no gate proves.
	Changed, Blind []string
	// Whole reports that it has all that the run changed: as many tests run as at the end of the run.
	Whole bool
}

// Prove returns why the gates of a run do not prove a commit; "" where they do.
func (m *Command) Prove(ctx context.Context, t Trial, before *run.State) (string, error) {
	now, err := m.tried(ctx, t.Repo, t.Commit, before)
	if err != nil {
		return "", err
	}
	fresh, blind := red(now)
	if len(blind) == 0 && len(fresh) > 0 {
		alone, err := m.tried(ctx, t.Repo, t.On, before)
		if err != nil {
			return "", err
		}
		known, _ := red(alone)
		fresh = slices.DeleteFunc(fresh, func(f string) bool { return slices.Contains(known, f) })
		if len(fresh) > 0 {
			return t.What + " fail where " + t.Onto + " does not: " + text.Some(fresh, maxNamed), nil
		}
	}
	if blind = slices.Concat(blind, t.Blind, lesser(before, now, t)); len(blind) == 0 {
		return "", nil
	}
	return "gates prove nothing on " + t.What + ": " + text.Some(blind, maxNamed), nil
}

func (m *Command) dir() store.Dir { return store.Dir{Path: m.StateDir, Log: m.Log} }

// tried runs the gates of a run on a commit.
func (m *Command) tried(ctx context.Context, repo, commit string, before *run.State) (*run.State, error) {
	var project *orchestrator.File
	meta, err := store.ReadMeta(m.dir().Run(before.Spec.Run))
	if err == nil && meta.Project != "" {
		project = &orchestrator.File{Name: meta.Project}
		project.Data, err = json.Marshal(before.Spec.Project)
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings of run %s: %w", before.Spec.Run, err)
	}
	id, err := m.Try(ctx, repo, commit, project, before.Spec.Project.Gates)
	if err != nil {
		return nil, err
	}
	st, _, err := m.dir().State(ctx, id)
	return st, err
}

// red are the failures of the gates that a trial ran, sorted; blind are gates that cannot be compared, with the reason.
func red(st *run.State) (failures, blind []string) {
	for name, r := range st.Proofs.Baseline {
		if why := gate.Incomparable(r); why != "" {
			blind = append(blind, name+" "+why)
			continue
		}
		for _, s := range r.Signatures {
			failures = append(failures, name+": "+s)
		}
	}
	slices.Sort(failures)
	slices.Sort(blind)
	return failures, blind
}

// lesser is what the gates of a run proved of changed files, and a trial of them does not.
func lesser(before, now *run.State, t Trial) (why []string) {
	for _, g := range before.Spec.Project.Gates {
		r, ran := now.Proofs.Baseline[g.Name]
		if !ran || !slices.ContainsFunc(now.Spec.Project.Gates, func(other spec.Gate) bool {
			return other.Name == g.Name && slices.Equal(other.Command, g.Command)
		}) {
			why = append(why, "the gate "+g.Name+" of the run did not run on them")
		}
		for _, final := range before.Final {
			had := final.Tests
			if !t.Whole {
				had = min(had, before.Proofs.Baseline[g.Name].Tests) // tests that others added are not in it
			}
			if final.Gate == g.Name && ran && r.Tests < had {
				why = append(why, fmt.Sprintf("%s ran %s, and %d at the end of the run", g.Name,
					text.Count(r.Tests, "test"), had))
			}
		}
	}
	for _, u := range now.Proofs.UnprovableIn(t.Changed) {
		if !slices.ContainsFunc(before.Proofs.Unprovable, func(had run.Unprovable) bool { return had.String() == u.String() }) {
			why = append(why, "no gate proves a change of "+u.String())
		}
	}
	return why
}
