// Package brief gathers what every request of a model agent shares, from an assignment and the commit that it starts from: its
// task with small files, the instruction files of the repository, what it inherits and the sessions that it continues with. It
// reads the log and the repository, and writes nothing.
package brief

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/compile"
	"divisi/contextscope/guide"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/subagents/agent"
	"divisi/subagents/journal"
	"divisi/subagents/wire"
)

// Tree reads the repository.
type Tree interface {
	// ReadFile returns the content of one file of a commit; what is not a file there is git.ErrNotFound, and what has more than
	// limit bytes an error.
	ReadFile(ctx context.Context, commit, path string, limit int64) ([]byte, error)
	// FilesUnder lists the files of a commit at and below the paths, sorted by path.
	FilesUnder(ctx context.Context, commit string, paths ...string) ([]git.Entry, error)
	// Diff returns at most limit bytes of what changed from one commit to another; cut reports that there was more.
	Diff(ctx context.Context, from, to string, limit int) (text string, cut bool, err error)
}

// Input gathers what every request of the agent shares. An agent that is given a patch is its judge.
func Input(
	ctx context.Context, log journal.Reader, objects journal.Objects, slices *Slices, tree Tree, a *wire.Assignment,
) (compile.Input, error) {
	in := compile.Input{
		Agent: a.Agent(), Role: a.Role, Include: spec.IncludeFull, Narrative: a.Role.Narrative,
		Window: agent.WindowOf(&a.Project, a.Role.Model), Brief: Of(a), Guides: guidesOf(ctx, tree, a),
	}
	var err error
	if a.Slice != "" {
		if in.Slice, err = slices.get(ctx, objects, a.Slice); err != nil {
			return in, fmt.Errorf("the inheritance of %s: %w", a.Agent(), err)
		}
	}
	if in.Values, err = valuesOf(a); err != nil {
		return in, err
	}
	if in.Brief.Files, err = filesOf(ctx, tree, a, in.Window); err != nil {
		return in, fmt.Errorf("read the files of %s: %w", a.Agent(), err)
	}
	if in.Events, err = continued(ctx, log, a); err == nil && a.Patch != nil {
		err = showPatch(ctx, tree, a, &in)
	}
	return in, err
}

// Of is the task of an assignment as it is put to its agent.
func Of(a *wire.Assignment) compile.Brief {
	b := compile.Brief{Task: a.Task, Goal: a.Goal, DecisionRecord: a.DecisionRecord}
	for _, i := range a.Inputs {
		b.Inputs = append(b.Inputs, compile.Handoff(i))
	}
	for _, p := range a.Prior {
		b.Prior = append(b.Prior, compile.Prior(p))
	}
	return b
}

// maxGuide bounds, in bytes, the instruction files that are read at all; most of a larger one would be cut.
const maxGuide = 1 << 20

// guidesOf finds the instruction files of the repository for the task, in the commit that the attempt starts from: what a patch
// makes of them never guides its judge. What was left out follows them, for the agent and for the reader of its prompt.
func guidesOf(ctx context.Context, tree Tree, a *wire.Assignment) []contextscope.Guide {
	head := a.Head
	if a.Patch != nil {
		head = a.Patch.Base
	}
	read := func(path string) ([]byte, error) {
		data, err := tree.ReadFile(ctx, head, path, maxGuide)
		if errors.Is(err, git.ErrNotFound) || errors.Is(err, git.ErrBadName) {
			return nil, fs.ErrNotExist
		}
		return data, err
	}
	guides, notes := guide.Find(read, []string{guide.Dir(a.Task.Files)})
	if len(notes) > 0 {
		guides = append(guides, contextscope.Guide{Path: "What was left out of them", Text: strings.Join(notes, "\n")})
	}
	return guides
}

// continued reads the sessions that this one continues with. They are the same agent's: an agent that is woken again.
func continued(ctx context.Context, log journal.Reader, a *wire.Assignment) ([]contextscope.Event, error) {
	var out []contextscope.Event
	for _, n := range a.Continues {
		events, _, err := journal.ReadSession(ctx, log, bus.AttemptFilter(a.Run, a.Role.Name, a.Task.ID, n))
		if err != nil {
			return nil, fmt.Errorf("read the session that %s continues: %w", a.Agent(), err)
		}
		for _, e := range events {
			if e.Author == e.Agent {
				e.Author = a.Agent()
			}
			e.Agent = a.Agent()
			out = append(out, e)
		}
	}
	return out, nil
}
