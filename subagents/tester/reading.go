package tester

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
	"divisi/subagents/grade"
)

// asked is a gate that may read some files, and may not. copies is set where a program of it opens files without understanding
// them. ground prepares each further run, after one that was green.
type asked struct {
	gate      spec.Gate
	where     gate.Where
	questions []string
	copies    bool
	ground    func() (Ground, error)
}

// run runs a gate and puts the tree back. It watches the changed files meanwhile; reading is nil on the base commit.
func (t *Executor) run(ctx context.Context, g spec.Gate, where gate.Where) (r spec.Receipt, reading *grade.Reading, err error) {
	var ended error
	var beyond string
	apart := func(*spec.Receipt) {}
	if !t.Assignment.Base {
		if reading, err = t.watch(ctx, g, &where); err != nil {
			return r, nil, err
		}
		where.OnEnd = func() { ended = reading.End() }
	} else {
		if len(g.Paths) > 0 {
			err = t.beyond(ctx, g, &where, &beyond)
		}
		if err == nil {
			apart, err = t.apart(ctx, g, &where)
		}
		if err != nil {
			return r, nil, err
		}
	}
	r, err = gate.Run(ctx, g, where)
	r.Beyond = beyond
	apart(&r)
	if err = cmp.Or(err, ended); err == nil {
		r.Wrote, err = t.restore(ctx, g.Name)
	}
	return r, reading, err
}

// watch begins to watch the files in which the tree differs from the commit that a batch is built on, or that the passage of the
// batch begins at, else from the base commit.
func (t *Executor) watch(ctx context.Context, g spec.Gate, where *gate.Where) (*grade.Reading, error) {
	if t.files == nil {
		changed, err := t.Changed(ctx, cmp.Or(t.Assignment.Passage, t.Assignment.Since, t.Origin))
		if err != nil {
			return nil, fmt.Errorf("list the changed files: %w", err)
		}
		files, err := grade.FilesOf(t.Dir, changed)
		if err != nil {
			return nil, err
		}
		t.files = &files
	}
	return grade.Begin(grade.Gate{
		Name: g.Name, Command: where.Args(g), Dir: t.Dir, Seen: sandbox.TreePath(t.Dir), Env: where.Env, List: t.list,
	}, *t.files)
}

// The bounds of a command that lists what a gate compiles.
const (
	listTimeout = 2 * time.Minute
	maxListed   = 32 << 20
)

// list runs a command that lists what a gate compiles.
func (t *Executor) list(ctx context.Context, command []string, dir string) (string, bool, error) {
	ground, err := t.beside(sandbox.Gates)
	if err != nil {
		return "", false, err
	}
	whole := &transcript{most: maxListed}
	out, err := sandbox.Run(ctx, sandbox.Command{
		Args: command, Dir: filepath.Join(t.Dir, dir), Env: ground.Env, Place: ground.Place, Writable: ground.Writable,
		Readable: ground.Readable, Loopback: t.Assignment.Role.Loopback, Timeout: listTimeout, DropErrors: true, Sink: whole,
		MaxSink: maxListed,
	})
	if missing(err) {
		return "", false, nil
	}
	if err == nil {
		_, err = t.Restore(ctx)
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", false, err
	}
	return string(whole.kept), out.Success(), nil
}

// grade writes the files that a gate did not read into its receipt, and reports whether there is a question about some: then the
// receipt is left once it is settled.
func (t *Executor) grade(
	ctx context.Context, r *spec.Receipt, reading *grade.Reading, g spec.Gate, where gate.Where,
) (open bool, err error) {
	if reading == nil {
		return false, nil
	}
	unread, questions, err := reading.Grades(ctx)
	if err != nil {
		return false, fmt.Errorf("grade the files of gate %s: %w", g.Name, err)
	}
	made := func(name string) bool { return t.madeOf[name] }
	unread = slices.DeleteFunc(unread, func(u spec.Unread) bool { return made(u.Path) })
	questions = slices.DeleteFunc(questions, made)
	unread = append(unread, t.unproven...)
	slices.SortFunc(unread, func(a, b spec.Unread) int { return strings.Compare(a.Path, b.Path) })
	bound(r, unread)
	if len(questions) == 0 || !r.LetsThrough() || r.Verdict == spec.VerdictPassage {
		return false, nil
	}
	t.asked = append(t.asked, asked{g, where, questions, reading.Copies(), func() (Ground, error) {
		return t.beside(sandbox.Gates)
	}})
	return true, nil
}

// bound writes unread files into a receipt, so many as it may have.
func bound(r *spec.Receipt, unread []spec.Unread) {
	n := min(len(unread), spec.MaxUnread)
	r.Unread, r.UnreadRest = unread[:n:n], len(unread)-n
}

// settle answers the questions about files that no other gate read, with probes, and leaves the receipts. A patch with a red gate
// does not land: nothing is probed for it.
func (t *Executor) settle(ctx context.Context, receipts []spec.Receipt) error {
	red := slices.ContainsFunc(receipts, func(r spec.Receipt) bool { return r.Verdict == spec.VerdictFail })
	for _, a := range t.asked {
		at := slices.IndexFunc(receipts, func(r spec.Receipt) bool { return r.Gate == a.gate.Name })
		r := &receipts[at]
		open := slices.DeleteFunc(a.questions, func(name string) bool {
			return r.UnreadOf(name) == nil || slices.ContainsFunc(receipts, func(other spec.Receipt) bool {
				return other.Version >= spec.ReceiptVersion && other.UnreadOf(name) == nil
			})
		})
		if len(open) > 0 && !red {
			release, err := t.Limiter.Acquire(ctx)
			if err != nil {
				return err
			}
			err = t.probe(ctx, a, open, r)
			if release(); err != nil {
				return fmt.Errorf("probe gate %s: %w", a.gate.Name, err)
			}
		}
		if err := t.leave(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// probe runs a gate again with an error in each of some files, and without those that it named until it names none. What it named
// it reads. What it printed is no evidence of anything else, and the time of the gate bounds all of it.
func (t *Executor) probe(ctx context.Context, a asked, open []string, r *spec.Receipt) error {
	heard, stop := t.listen(fmt.Sprintf("probe whether gate %s reads %s", a.gate.Name, text.Count(len(open), "file")))
	defer stop()
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(a.gate.Timeout.Std(), gate.DefaultTimeout))
	defer cancel()
	read, why := map[string]bool{}, ""
	for n := 0; len(open) > 0; n++ {
		if n == grade.MaxRounds {
			why = fmt.Sprintf("not found out in %d runs of gate %s", n, a.gate.Name)
			break
		}
		round, err := t.round(ctx, bounded, a, open, heard)
		if err != nil {
			return err
		}
		for _, name := range round.named {
			read[name] = true
		}
		open = slices.DeleteFunc(open, func(name string) bool { return read[name] })
		if why = round.why; len(round.named) == 0 {
			break
		}
	}
	unread := slices.DeleteFunc(slices.Clone(r.Unread), func(u spec.Unread) bool { return read[u.Path] })
	for i := range unread {
		switch u := &unread[i]; {
		case !slices.Contains(open, u.Path):
		case why == "":
			u.Grade, u.Reason = spec.GradeUnread, grade.Outside(u.Path)
		default:
			u.Reason = why
		}
	}
	r.Unread = unread
	return nil
}

// round is one run of a probe: which files were named; where none were, why that tells nothing, empty for a gate that is green
// with errors in all.
type round struct {
	named []string
	why   string
}

func (t *Executor) round(ctx, bounded context.Context, a asked, open []string, heard func([]byte)) (round, error) {
	ground, err := a.ground()
	if err != nil {
		return round{}, err
	}
	whole := &transcript{}
	a.where.Env, a.where.Place = grade.KeepGoing(ground.Env), ground.Place
	a.where.Writable, a.where.Readable = ground.Writable, ground.Readable
	a.where.Sink, a.where.OnOutput, a.where.Ran, a.where.More = whole, heard, nil, false
	marks, err := grade.Plant(t.Dir, open)
	var r spec.Receipt
	if err == nil {
		r, err = gate.Run(bounded, a.gate, a.where)
	}
	if _, restored := t.Restore(ctx); restored != nil {
		return round{}, errors.Join(err, restored)
	}
	named := grade.Named(marks, string(whole.kept), a.copies)
	switch {
	case err != nil && bounded.Err() != nil && ctx.Err() == nil, r.TimedOut, r.Killed:
		return round{why: "not found out in the time of the gate"}, nil
	case err != nil:
		return round{}, err
	case r.Verdict != spec.VerdictFail && len(named) > 0:
		return round{why: "gate " + a.gate.Name + " prints an error in it and stays green"}, nil
	case r.Verdict != spec.VerdictFail:
		return round{}, nil
	case len(open) == 1 && !a.copies:
		return round{named: open}, nil
	}
	return round{named: named, why: "gate " + a.gate.Name + " turns red with errors in " + text.Count(len(open), "file") +
		", and names none"}, nil
}
