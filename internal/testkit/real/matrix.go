package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// result is one step of one repository.
type result struct {
	Step string `json:"step"`
	outcome
	// Script is what the plain script took, and Asked what a person has to decide before a run starts.
	Script time.Duration `json:"script,omitempty"`
	Asked  string        `json:"asked,omitempty"`
	// Right reports whether the run ended as it must; Why is what was expected.
	Right bool   `json:"right"`
	Why   string `json:"why,omitempty"`
}

// matrix tries every repository whose clone is in a directory, one after the other, and prints what each step cost.
func matrix(ctx context.Context, out io.Writer, divisi, dir, only string, mutants int) error {
	list, err := repos()
	if err != nil {
		return err
	}
	if divisi, err = filepath.Abs(divisi); err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	for _, r := range list {
		if only != "" && !slices.Contains(strings.Split(only, ","), r.Name) {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, r.Name, ".git")); err != nil {
			fmt.Fprintf(out, "%-14s missing: git clone %s %s, at %s\n", r.Name, r.Address, filepath.Join(dir, r.Name), r.Commit)
			continue
		}
		if err := r.try(ctx, out, divisi, dir, mutants); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	return nil
}

// try runs the steps of one repository that have no result yet, and prints all.
func (r *repo) try(ctx context.Context, out io.Writer, divisi, dir string, mutants int) error {
	p := &place{out: out, divisi: divisi, work: filepath.Join(dir, "real-work", r.Name)}
	p.repo, p.state, p.env = filepath.Join(p.work, "repo"), filepath.Join(p.work, "state"), os.Environ()
	if r.Path != "" {
		p.env = append(p.env, "PATH="+r.Path+":"+os.Getenv("PATH"))
	}
	if err := os.MkdirAll(p.work, 0o755); err != nil {
		return err
	}
	for _, s := range r.steps() {
		file := filepath.Join(p.work, s.name+".json")
		var had result
		if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &had) == nil {
			had.print(p.out, r.Name)
			continue
		}
		if err := p.checkout(ctx, filepath.Join(dir, r.Name), r.Commit); err != nil {
			return err
		}
		got, err := s.run(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		got.Step = s.name
		data, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
		got.print(p.out, r.Name)
	}
	if r.Mutants != nil && mutants > 0 {
		return r.sow(ctx, p, mutants)
	}
	return nil
}

// checkout makes the copy that is tried, once, at the newest commit of the clone: what runs leave in it are branches of their
// own.
func (p *place) checkout(ctx context.Context, clone, commit string) error {
	if _, err := os.Stat(p.repo); err == nil {
		return nil
	}
	head, err := exec.CommandContext(ctx, "git", "-C", clone, "rev-parse", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("read the newest commit of %s: %w", clone, err)
	}
	if at := strings.TrimSpace(string(head)); at != commit {
		fmt.Fprintf(p.out, "%s is at %s and not at %s\n", clone, at, commit)
	}
	for _, argv := range [][]string{
		{"git", "clone", "-q", "--shared", clone, p.repo}, {"git", "-C", p.repo, "checkout", "-qB", "main"},
	} {
		if err := p.in(ctx, p.work, argv...); err != nil {
			return err
		}
	}
	return nil
}

// step is one row of a repository.
type step struct {
	name string
	run  func(context.Context, *place) (result, error)
}

func (r *repo) steps() []step {
	list := []step{{"init", r.init}, {"first", r.codemod}, {"codemod", r.codemod}} // the first one keeps the baseline
	if r.Set != nil {
		list = append(list, step{"set", r.changeSet}, step{"forgotten", r.forgotten})
	}
	if r.Broken != nil {
		list = append(list, step{"broken", r.oneWrong(r.Broken)}, step{"failing", r.oneWrong(r.Failing)})
	}
	return list
}

// init has Divisi propose what the repository needs, and commits it. Repositories with a project of their own get that.
func (r *repo) init(ctx context.Context, p *place) (out result, err error) {
	begin := time.Now()
	if r.Project == "" {
		cmd := exec.CommandContext(ctx, p.divisi, "init", "--repo", p.repo, "--yes", "--trust-repo", "--state-dir", p.state)
		cmd.Env, cmd.Dir = p.env, p.work
		said, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			return out, err
		}
		out.Exit, out.Said = cmd.ProcessState.ExitCode(), tail(string(said), 3000)
	} else {
		out.Asked = "a project file of its own"
		if err := os.MkdirAll(filepath.Join(p.repo, ".divisi"), 0o755); err != nil {
			return out, err
		}
		if err := os.WriteFile(filepath.Join(p.repo, ".divisi", "divisi.yaml"), []byte(r.Project), 0o644); err != nil {
			return out, err
		}
	}
	out.Wall = time.Since(begin)
	_, err = os.Stat(filepath.Join(p.repo, ".divisi", "divisi.yaml"))
	out.Right = err == nil
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err := p.in(ctx, p.repo, "git", "add", "-f", ".divisi"); err != nil {
		return out, err
	}
	return out, p.in(ctx, p.repo, "git", "-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-qm", "divisi")
}

func (r *repo) codemod(ctx context.Context, p *place) (out result, err error) {
	if out.Script, _, err = p.script(ctx, &r.Codemod, nil); err != nil {
		return out, err
	}
	return p.expect(ctx, "codemod", out, &job{change: r.Codemod}, func(o *outcome) (bool, string) {
		return o.Exit == min(r.Unproven, 1) && len(o.Parked) == r.Unproven && o.Doubts == r.Unproven,
			fmt.Sprintf("all land, without a doubt, but %d that no gate proves", r.Unproven)
	})
}

func (r *repo) changeSet(ctx context.Context, p *place) (out result, err error) {
	if out.Script, _, err = p.script(ctx, r.Set, nil); err != nil {
		return out, err
	}
	files, err := r.Set.files(ctx, p.repo)
	if err != nil {
		return out, err
	}
	return p.expect(ctx, "set", out, &job{change: *r.Set, set: files}, func(o *outcome) (bool, string) {
		return o.Exit == 0 && len(o.Parked) == 0 && o.Doubts == 0, "all land as one, without a doubt"
	})
}

// forgotten leaves a caller out of the set: nothing may land.
func (r *repo) forgotten(ctx context.Context, p *place) (result, error) {
	files, err := r.Set.files(ctx, p.repo)
	if err != nil {
		return result{}, err
	}
	all := len(files)
	files = slices.DeleteFunc(files, func(f string) bool { return f == r.Forgotten })
	if len(files) == all {
		return result{}, fmt.Errorf("%s is not in the set", r.Forgotten)
	}
	return p.expect(ctx, "forgotten", result{}, &job{change: *r.Set, set: files}, func(o *outcome) (bool, string) {
		return o.Exit == 1 && o.Landed == 0 && strings.Contains(o.report, r.Forgotten),
			"nothing lands, and the reason names " + r.Forgotten
	})
}

// oneWrong makes one shard of the codemod wrong: the others land and it does not.
func (r *repo) oneWrong(w *wrong) func(context.Context, *place) (result, error) {
	return func(ctx context.Context, p *place) (result, error) {
		return p.expect(ctx, "wrong", result{}, &job{change: r.Codemod, wrong: w}, func(o *outcome) (bool, string) {
			return o.Exit == 1 && len(o.Parked) == 1+r.Unproven && !p.changed(ctx, o.Ref, w.File),
				fmt.Sprintf("all land but the shard of %s and %d that no gate proves", w.File, r.Unproven)
		})
	}
}

// changed reports whether a branch has another version of a file than the base.
func (p *place) changed(ctx context.Context, ref, file string) bool {
	return ref == "" || p.in(ctx, p.repo, "git", "diff", "--quiet", "main", ref, "--", file) != nil
}

func (p *place) expect(
	ctx context.Context, name string, out result, j *job, right func(*outcome) (bool, string),
) (result, error) {
	o, err := p.run(ctx, name, j)
	if err != nil {
		return out, err
	}
	out.outcome = o
	out.Right, out.Why = right(&o)
	return out, nil
}

func (r *result) print(w io.Writer, name string) {
	verdict := "right"
	if !r.Right {
		verdict = "WRONG"
	}
	fmt.Fprintf(w, "%-14s %-10s %s  exit %d  wall %6.1f s  script %6.1f s  gate runs %2d  attempts %3d  landed %3d  "+
		"parked %2d  doubts %d  %4d MB  disk %d MB  %s\n",
		name, r.Step, verdict, r.Exit, r.Wall.Seconds(), r.Script.Seconds(), r.GateRuns, r.Attempts, r.Landed,
		len(r.Parked), r.Doubts, r.PeakMB, r.DiskMB, r.Asked)
	if !r.Right {
		fmt.Fprintf(w, "    expected: %s\n    %s\n", r.Why, strings.ReplaceAll(tail(r.Reason+"\n"+r.Said, 1200), "\n", "\n    "))
	}
}
