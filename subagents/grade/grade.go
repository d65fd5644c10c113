// Package grade finds how far a gate read the files that differ from the base commit: whether something compiled, ran or only
// opened them. Its input is the work tree, the changed paths and the gate's command; its evidence the rules of the compilers, the
// lists that they leave, and inotify on the changed files while the gate runs. What it cannot tell is a question, which Probe
// answers: the gate runs again with an error in each of those files.
package grade

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"divisi/internal/sandbox/stage"
	"divisi/internal/spec"
	"divisi/subagents/grade/calls"
)

// Gate is a gate that is about to run.
type Gate struct {
	Name string
	// Command runs at the top of the work tree Dir, which the gate sees at Seen. Env is its environment.
	Command   []string
	Dir, Seen string
	Env       []string
	// List runs another command like the gate, and returns what it prints; false where it failed.
	List func(ctx context.Context, command []string, dir string) (string, bool, error)
}

// Reading watches one run of a gate.
type Reading struct {
	gate  Gate
	began time.Time
	files []File
	calls calls.Calls
	watch *watch
	// before are the compiled modules of Python from before the run.
	before map[string]stamp
	golang *golang
	// opened, and what compilers left, are known after the run.
	opened opened
	left   evidence
}

// Begin prepares the reading of a gate; End ends the watch. Nothing else may open the files in between.
func Begin(g Gate, files []File) (*Reading, error) {
	r := &Reading{gate: g, began: time.Now(), files: files}
	root, err := os.OpenRoot(g.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // only read from
	r.calls = calls.Of(root, g.Command)
	r.golang = newGolang(root, g.Env, r.calls.List, files)
	r.before = modulesOf(root, files)
	r.watch = newWatch(g.Dir, watched(files, r.before), opening)
	return r, nil
}

// End is called as soon as the gate has ended, before anything reads the tree.
func (r *Reading) End() error {
	r.opened = r.watch.end()
	root, err := os.OpenRoot(r.gate.Dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // only read from
	r.left = evidenceOf(root, r.gate.Seen, r.files, r.began)
	for _, name := range r.opened.modules(root, r.files, r.before) {
		r.left.ran[name] = true
	}
	return nil
}

// Join adds what the same gate read in another run on the same tree: what it made there need not be made again.
func (r *Reading) Join(other *Reading) {
	maps.Copy(r.opened.paths, other.opened.paths)
	maps.Copy(r.left.ran, other.left.ran)
	maps.Copy(r.left.compiled, other.left.compiled)
}

// Grades returns the files that the gate did not read as their kind needs, and which of them are a question. The tree is
// the commit's again.
func (r *Reading) Grades(ctx context.Context) (unread []spec.Unread, questions []string, err error) {
	listed, err := r.listed(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range r.files {
		var u *spec.Unread
		question := false
		switch {
		case r.left.ran[f.Path] || r.left.compiled[f.Path] || slices.Contains(r.calls.Scripts, f.Path) && !f.Compiled:
		case f.Language == "":
			u = r.data(f)
		case f.Language == calls.Go:
			u, question = r.goFile(f)
		case f.Language == calls.TypeScript:
			u, question = r.typeScript(f, listed)
		case f.Compiled:
			u, question = r.compiled(f)
		default:
			u, question = r.interpreted(f)
		}
		if u == nil {
			continue
		}
		u.Path, u.Source = f.Path, f.Language != ""
		unread = append(unread, *u)
		if question {
			questions = append(questions, f.Path)
		}
	}
	return unread, questions, nil
}

// The reasons that several kinds have in common.
const (
	notOpened  = "no gate opened it"
	NotInBuild = "not in the build"
)

// Outside is why a file is unread with an error in which the gate is green.
func Outside(name string) string {
	if f := kindOf(name); f.Language != "" && !f.Compiled {
		return "neither run nor imported"
	}
	return NotInBuild
}

// sweeps returns the program of the gate that opens files without understanding them; "" for none. Of source code checkers do.
func (r *Reading) sweeps(source bool) string {
	for _, call := range r.calls.List {
		if call.Role == calls.Touches || source && call.Role == calls.Checks {
			return call.Words[0]
		}
	}
	return ""
}

// Copies reports whether a program of the gate opens source files without compiling or running them: that it is red with an error
// in one need not be the work of what does.
func (r *Reading) Copies() bool { return r.sweeps(true) != "" }

// vague is the grade of a file that was opened, where that tells nothing.
func (r *Reading) vague(f File) *spec.Unread {
	u := &spec.Unread{Grade: spec.GradeUnknown}
	switch by := r.sweeps(f.Language != ""); {
	case r.opened.lacks(f.Path) != "":
		u.Reason = r.opened.lacks(f.Path)
	case by != "":
		u.Reason = "gate " + r.gate.Name + " also opens files for " + by
	case !r.calls.Whole:
		u.Reason = "it is not known how gate " + r.gate.Name + " uses the files that it opens"
	}
	return u
}

// shut is the grade of a file that nothing opened.
func shut(reason string) *spec.Unread { return &spec.Unread{Grade: spec.GradeUnread, Reason: reason} }

func (r *Reading) data(f File) *spec.Unread {
	switch {
	case f.Odd != "":
		return &spec.Unread{Grade: spec.GradeUnknown, Reason: f.Odd}
	case r.opened.lacks(f.Path) != "":
		return r.vague(f)
	case !r.opened.paths[f.Path]:
		return shut(notOpened)
	case r.golang.steers(f.Path):
		return nil
	case !r.calls.Whole || r.sweeps(false) != "":
		return r.vague(f)
	}
	return nil
}

// runsCode reports whether the gate runs code that may compile, or import, files of languages that no word of it names.
func (r *Reading) runsCode() bool { return r.calls.Any("", calls.Runs, calls.Own, calls.Compiles) }

// compiled grades a file of a language whose compiler left no list of what it read. That of C opens nothing else.
func (r *Reading) compiled(f File) (u *spec.Unread, question bool) {
	may := r.opened.paths[f.Path] || r.opened.lacks(f.Path) != ""
	compiles := r.calls.Any(f.Language, calls.Compiles, calls.Runs)
	switch {
	case r.golang.known[f.Path].compiled: // a part of a package of Go
		return nil, false
	case r.calls.Whole && !compiles && (!may || !r.runsCode()):
		return shut(""), false
	case !may && compiles:
		return shut(NotInBuild), false
	case !may:
		return shut(notOpened), false
	case f.Language == calls.C && r.calls.Whole && compiles && r.sweeps(true) == "" && r.opened.paths[f.Path]:
		return nil, false
	}
	return r.vague(f), true
}

// interpreted grades a file of a language that is compiled, if at all, where it runs.
func (r *Reading) interpreted(f File) (u *spec.Unread, question bool) {
	runs := r.calls.Any(f.Language, calls.Runs, calls.Compiles)
	may := r.opened.paths[f.Path] || r.opened.lacks(f.Path) != ""
	switch {
	case r.calls.Whole && !runs && (!may || !r.runsCode()):
		return shut(""), false
	case !may:
		return shut(notOpened), false
	case r.calls.Whole && runs && r.sweeps(true) == "" && r.opened.paths[f.Path]:
		return nil, false
	}
	return r.vague(f), true
}

// setting is a variable of a call: that of its own line, else of the gate.
func setting(own, env []string, name string) string {
	for _, entry := range slices.Backward(own) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return stage.Lookup(env, name)
}
