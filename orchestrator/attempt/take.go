package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/workspace"
)

// Taken is an attempt that was checked out for a person. Without Dir it is what is kept of that in the directory.
type Taken struct {
	Run     string `json:"run"`
	Task    string `json:"task"`
	Attempt int    `json:"attempt"`
	Base    string `json:"base"`
	Dir     string `json:"dir,omitempty"`
	// Files are those that the attempt changed, LeftOut those of them that are left out, such as symbolic links, each with
	// the reason. Failure is why it is not on the branch, and No why nothing can be given to the task now; empty where it
	// can.
	Files   []string `json:"files,omitempty"`
	LeftOut []string `json:"left_out,omitempty"`
	Failure string   `json:"failure,omitempty"`
	No      string   `json:"no,omitempty"`
}

// takenFile names what is known of a directory that an attempt was checked out into.
const takenFile = "divisi.json"

// Take checks the attempt out into a directory that is new or empty, and outside the run's repository: a repository on the
// commit that the attempt started from, with its patch as changes.
func (a *Attempt) Take(ctx context.Context, dir string) (_ *Taken, err error) {
	if a.st.Tasks.ByID[a.task] == nil {
		return nil, usage.Errorf("%s is no task of the plan", a.task)
	}
	mirror, err := a.mirror(ctx)
	if err != nil {
		return nil, err
	}
	t := &Taken{Run: a.st.Spec.Run, Task: a.task, Attempt: a.Attempt.Attempt, Base: a.Head}
	if dir, err = a.place(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, workspace.Remove(dir))
		}
	}()
	clone, err := mirror.Clone(ctx, dir, a.task, a.Head)
	if err != nil {
		return nil, err
	}
	commit, without := a.Head, []string{}
	if a.Result != nil && a.Result.Patch != nil {
		if err := a.fetch(ctx, mirror, clone, a.Result.Patch); err != nil {
			return nil, err
		}
		if without, err = t.leaveOut(ctx, clone, a.Result.Patch); err != nil {
			return nil, err
		}
		commit = a.Result.Patch.Commit
	}
	if err := clone.Lay(ctx, commit, a.Head, without...); err != nil {
		return nil, err
	}
	data, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode the record of the take: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", takenFile), append(data, '\n'), 0o644); err != nil {
		return nil, fmt.Errorf("write the record of the take: %w", err)
	}
	t.Dir, t.Failure = dir, a.failure()
	if err := request.Givable(&a.st.Agenda, a.st.Works, a.st.Tasks.ByID[a.task], t.Base); err != nil {
		t.No = err.Error()
	}
	return t, nil
}

// leaveOut takes the files of a patch, but for those that could act on a person's machine, and returns these: links that an agent
// has made or turned to another place, and what else no patch may have.
func (t *Taken) leaveOut(ctx context.Context, clone *git.Repo, p *spec.Patch) (without []string, err error) {
	err = git.CheckPatch(ctx, clone, *p, func(string, bool) bool { return true })
	refused := &git.PatchError{}
	if err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	changes, err := clone.Changed(ctx, p.Base, p.Commit)
	if err != nil {
		return nil, err
	}
	faults := refused.Faults
	for _, c := range changes {
		if c.OldMode == git.ModeSymlink && c.NewMode == git.ModeSymlink {
			faults = append(faults, git.PatchFault{Path: c.Path, Text: "is a symlink that leads to another place"})
		}
	}
	for _, f := range faults {
		if f.Path != "" && !slices.Contains(without, f.Path) {
			without, t.LeftOut = append(without, f.Path), append(t.LeftOut, f.Path+" "+f.Text)
		}
	}
	t.Files = slices.DeleteFunc(slices.Clone(p.Files), func(path string) bool {
		return slices.ContainsFunc(without, func(out string) bool { return path == out || strings.HasPrefix(path, out+"/") })
	})
	return without, nil
}

// fetch gets a patch into a clone. The mirror lacks one that nothing has imported yet.
func (a *Attempt) fetch(ctx context.Context, mirror, clone *git.Repo, p *spec.Patch) error {
	var pack []byte
	var err error
	if a.format != nil {
		pack, err = mirror.Pack(ctx, p.Commit, p.Base)
	} else {
		pack, err = a.bus.Get(ctx, p.Pack)
	}
	if err == nil {
		err = clone.Import(ctx, pack)
	}
	switch {
	case errors.Is(err, git.ErrPack), errors.Is(err, git.ErrTooLarge), errors.Is(err, bus.ErrNotFound):
		return usage.Errorf("the patch of %s/%d cannot be read: %v", a.task, a.Attempt.Attempt, err)
	case err != nil:
		return fmt.Errorf("get the patch of %s/%d: %w", a.task, a.Attempt.Attempt, err)
	}
	return nil
}

// failure is why the attempt did not land, where that is known.
func (a *Attempt) failure() string {
	t := a.st.Tasks.ByID[a.task]
	for _, f := range t.Faults {
		if f.Attempt == a.Attempt.Attempt {
			return f.Fault.Message
		}
	}
	if a.Attempt.Attempt != t.Attempt || t.State == run.TaskLanded {
		return ""
	}
	return t.Reason
}

// place makes the directory of a person, and refuses one that is not empty or lies in the run's repository or its state.
func (a *Attempt) place(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the directory: %w", err)
	}
	meta, err := store.ReadMeta(a.dir.Run(a.st.Spec.Run))
	if err != nil {
		return "", err
	}
	dir = git.Resolved(dir)
	entries, err := os.ReadDir(dir)
	switch repo := cmp.Or(meta.Repo, a.st.Spec.Repo); {
	case git.Inside(dir, repo):
		return "", usage.Errorf("%s is inside the repository of run %s: name a directory outside of %s", dir, a.st.Spec.Run, repo)
	case git.Below(dir, git.Resolved(a.dir.Path)):
		return "", usage.Errorf("%s is inside the state directory: name another directory", dir)
	case len(entries) > 0:
		return "", usage.Errorf("%s is not empty: name a directory that is new or empty", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", usage.Errorf("%s cannot be used: %v", dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", usage.Errorf("%s cannot be made: %v", dir, err)
	}
	return dir, nil
}

// mirror is the run's, which has the commit that the attempt started from.
func (a *Attempt) mirror(ctx context.Context) (*git.Repo, error) {
	g, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	m, err := g.OpenMirror(filepath.Join(a.dir.Run(a.st.Spec.Run), "repo.git"))
	if err != nil {
		return nil, err
	}
	known, err := m.Has(ctx, a.Head)
	if err == nil && !known {
		err = usage.Errorf("run %s no longer has the commit %s, which %s/%d started from", a.st.Spec.Run, a.Head, a.task,
			a.Attempt.Attempt)
	}
	return m, err
}
