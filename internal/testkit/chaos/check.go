package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/internal/testkit/fleet"
)

// shown is the output of divisi show for the run.
type shown struct {
	State  string `json:"state"`
	Reason string `json:"reason"`
	Tasks  []struct {
		ID     string `json:"id"`
		State  string `json:"state"`
		Reason string `json:"reason"`
	} `json:"tasks"`
	Decisions []struct {
		ID   string `json:"id"`
		Kind string `json:"kind"`
	} `json:"decisions"`
}

// ended reports whether nothing will continue by itself: a run that was stopped with its host does, with the next one.
func (s *shown) ended() bool {
	switch s.State {
	case "done", "parked", "cancelled", "failed":
		return true
	}
	return s.State == "stopped" && !strings.Contains(s.Reason, "the host that conducts")
}

func (r *round) show(ctx context.Context) (*shown, error) {
	data, err := r.Command(ctx, "author", "show", r.run, "--on", r.on)
	if err != nil {
		return nil, err
	}
	s := &shown{}
	return s, json.Unmarshal(data, s)
}

// check compares what has become of the run with what must. before is the state of the repository before it.
func (r *round) check(ctx context.Context, before string) error {
	var s *shown
	err := fleet.Again(ctx, 30*time.Second, func() (err error) { // the server may just have been started again
		if s, err = r.show(ctx); err == nil {
			_, err = r.Command(ctx, "author", "publish", r.run, "--on", r.on, "--repo", r.job.repo)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	errs := []error{r.checkTasks(s), r.checkTree(ctx), r.checkCommits(ctx), r.checkEvents(ctx)}
	if _, err := r.job.git(ctx, "fsck", "--strict", "--full"); err != nil {
		errs = append(errs, err)
	}
	after, err := r.job.state(ctx)
	if err == nil && after != before {
		err = fmt.Errorf("the repository was %q and is %q", before, after)
	}
	return errors.Join(append(errs, err)...)
}

// checkTasks checks how the tasks ended.
func (r *round) checkTasks(s *shown) error {
	want := map[string]string{}
	for _, id := range r.job.landed {
		want[id] = "landed"
	}
	for _, id := range r.job.parked {
		want[id] = "parked"
	}
	var errs []error
	if s.State != "parked" {
		errs = append(errs, fmt.Errorf("the run is %s: %s", s.State, s.Reason))
	}
	for _, t := range s.Tasks {
		if want[t.ID] != t.State {
			errs = append(errs, fmt.Errorf("%s is %s and not %s: %s", t.ID, t.State, want[t.ID], t.Reason))
		}
		delete(want, t.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		errs = append(errs, fmt.Errorf("there is no task %s", id))
	}
	return errors.Join(errs...)
}

func (r *round) branch() string { return "refs/heads/divisi/" + r.run }

// checkTree compares the files of the published branch with those of a calm run.
func (r *round) checkTree(ctx context.Context) error {
	names, err := r.job.git(ctx, "ls-tree", "-r", "--name-only", r.branch())
	if err != nil {
		return err
	}
	left := maps.Clone(r.job.want)
	var errs []error
	for name := range strings.SplitSeq(names, "\n") {
		text, err := r.job.git(ctx, "show", r.branch()+":"+name)
		if err == nil && text != strings.TrimSpace(left[name]) {
			err = fmt.Errorf("%s is %q and not %q", name, text, left[name])
		}
		errs = append(errs, err)
		delete(left, name)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		errs = append(errs, fmt.Errorf("%s is missing", name))
	}
	return errors.Join(errs...)
}

// checkCommits checks that each task has landed with one commit, and the change set with one for all.
func (r *round) checkCommits(ctx context.Context) error {
	singles := len(r.job.landed) - len(r.job.set)
	out, err := r.job.git(ctx, "rev-list", "--count", "--no-merges", "main.."+r.branch())
	if err == nil && out != fmt.Sprint(singles+1) {
		err = fmt.Errorf("%s commits have landed for %d tasks and a change set", out, singles)
	}
	args := append([]string{"log", "--format=format:commit", "--name-only", "main.." + r.branch(), "--"}, r.job.set...)
	sets, setErr := r.job.git(ctx, args...)
	if setErr == nil && (strings.Count(sets, "commit") != 1 || strings.Count(sets, "set/") != len(r.job.set)) {
		setErr = fmt.Errorf("the change set has not landed as one: %q", sets)
	}
	return errors.Join(err, setErr)
}

// checkEvents reads the log: each event is there once, in order, and each task has landed once.
func (r *round) checkEvents(ctx context.Context) error {
	out, err := r.Command(ctx, "author", "watch", r.run, "--on", r.on)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	ids, landed, pos := map[string]bool{}, map[string]int{}, 0
	for l := range bytes.SplitSeq(bytes.TrimSpace(out), []byte("\n")) {
		var e struct {
			ID   string `json:"id"`
			Kind string `json:"kind"`
			Pos  int    `json:"pos"`
			Data struct {
				State string `json:"state"`
				Tasks []struct {
					Task string `json:"task"`
				} `json:"tasks"`
			} `json:"data"`
		}
		if err := json.Unmarshal(l, &e); err != nil {
			return fmt.Errorf("read an event: %w", err)
		}
		if ids[e.ID] || e.Pos < pos {
			return fmt.Errorf("event %s at %d is there twice or out of order", e.ID, e.Pos)
		}
		ids[e.ID], pos = true, e.Pos
		if e.Kind == "landing" && e.Data.State == "landed" {
			for _, t := range e.Data.Tasks {
				landed[t.Task]++
			}
		}
	}
	for _, id := range r.job.landed {
		if landed[id] != 1 {
			err = errors.Join(err, fmt.Errorf("the log has %d landings of %s", landed[id], id))
		}
	}
	return err
}
