package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// figures reads the log of the run, and prints how the person and what was planted fared.
func (t *trial) figures(out io.Writer) error {
	id, err := os.ReadFile(t.path("run"))
	if err != nil {
		return err
	}
	r, err := t.readLog(string(id))
	if err != nil {
		return err
	}
	data, err := os.ReadFile(t.path("answers.json"))
	if err != nil {
		return err
	}
	var planted []shard
	if err := json.Unmarshal(data, &planted); err != nil {
		return fmt.Errorf("read answers.json: %w", err)
	}
	states, err := t.states(string(id))
	if err != nil {
		return err
	}
	r.printAttention(out)
	landed, err := t.landed(string(id), planted)
	if err != nil {
		return err
	}
	r.printPlanted(out, planted, states, landed)
	r.printBriefs(out, states)
	return nil
}

// patience is how long a command of divisi may take here.
const patience = 2 * time.Minute

// readLog folds the log of a run.
func (t *trial) readLog(id string) (*record, error) {
	events, err := t.output("watch", id, "--output", "json")
	if err != nil {
		return nil, err
	}
	events = events[:bytes.LastIndexByte(events, '\n')+1] // what follows may be half a line
	r := newRecord()
	lines := bufio.NewScanner(bytes.NewReader(events))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := r.add(lines.Bytes()); err != nil {
			return nil, err
		}
	}
	return r, lines.Err()
}

// output is the output of a divisi command. One that follows a run which has not ended is stopped after a while.
func (t *trial) output(args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.divisi, append(args, "--state-dir", t.path("state"))...)
	cmd.Dir = t.dir
	out, err := cmd.Output()
	// The exit code reports how the run stands, which is no failure here.
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || len(out) == 0) {
		return nil, fmt.Errorf("divisi %s: %w", args[0], err)
	}
	return out, nil
}

// states are those of all tasks.
func (t *trial) states(id string) (map[string]string, error) {
	data, err := t.output("show", id, "--output", "json")
	if err != nil {
		return nil, err
	}
	var report struct {
		Tasks []struct {
			ID    string `json:"id"`
			State string `json:"state"`
		} `json:"tasks"`
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("read the report of %s: %w", id, err)
	}
	states := map[string]string{}
	for _, task := range report.Tasks {
		states[task.ID] = task.State
	}
	return states, nil
}

// landed are the paths that have what was planted at the end.
func (t *trial) landed(id string, planted []shard) (map[string]bool, error) {
	mirror := filepath.Join(t.dir, "state", "runs", id, "repo.git")
	heads, err := exec.Command("git", "-C", mirror, "for-each-ref", "--format=%(refname)").Output() //nolint:noctx // it is quick
	if err != nil {
		return nil, fmt.Errorf("list the branches of %s: %w", mirror, err)
	}
	ref := ""
	for name := range strings.FieldsSeq(string(heads)) {
		if strings.HasSuffix(name, "/"+id) {
			ref = name
		}
	}
	out := map[string]bool{}
	if ref == "" { // nothing has landed
		return out, nil
	}
	for _, s := range planted {
		text, err := exec.Command("git", "-C", mirror, "show", ref+":"+s.Path).Output() //nolint:noctx // it is quick
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", s.Path, err)
		}
		out[s.Path] = string(text) == s.First
	}
	return out, nil
}

// printPlanted prints what became of each wrong patch, and which right ones were refused.
func (r *record) printPlanted(out io.Writer, planted []shard, states map[string]string, landed map[string]bool) {
	count, bad := map[string]int{}, map[string]bool{}
	fmt.Fprintln(out, "\nPlanted patches")
	for _, s := range planted {
		id := r.tasks[s.Path]
		bad[id] = true
		fate := "not decided"
		switch {
		case landed[s.Path]:
			fate = "landed"
		case states[id] == "dropped":
			fate = "dropped"
		case slices.Contains(r.refused, id):
			fate = "rejected"
		case states[id] != "pending" && states[id] != "running" && states[id] != "held":
			fate = states[id]
			if fate == "landed" {
				fate = "mended by chance"
			}
		}
		count[fate]++
		fmt.Fprintf(out, "  %-17s %-16s %-30s %s\n", fate, id, s.Wrong, s.Path)
	}
	gone := count["cancelled"] + count["skipped"]
	fmt.Fprintf(out, "  landed %d of %d; caught %d (rejected %d, dropped %d, cancelled or skipped %d)\n", count["landed"],
		len(planted), count["rejected"]+count["dropped"]+gone, count["rejected"], count["dropped"], gone)
	var wrongly []string
	for _, id := range r.refused {
		if !bad[id] && !isBrief(id) && !slices.Contains(wrongly, id) {
			wrongly = append(wrongly, id)
		}
	}
	for id, state := range states {
		if state == "dropped" && !bad[id] {
			wrongly = append(wrongly, id)
		}
	}
	slices.Sort(wrongly)
	fmt.Fprintf(out, "  right patches that were rejected or dropped: %d %s\n", len(wrongly), strings.Join(wrongly, " "))
}

func isBrief(id string) bool {
	return slices.ContainsFunc(briefs, func(b brief) bool { return b.task == id })
}

func (r *record) printBriefs(out io.Writer, states map[string]string) {
	fmt.Fprintln(out, "\nWrong briefs")
	for _, b := range briefs {
		fmt.Fprintf(out, "  %-8s %-9s after %d attempts\n", b.task, states[b.task], r.attempts[b.task])
	}
}
