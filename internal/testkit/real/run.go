package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// outcome is the cost and the result of one run of Divisi.
type outcome struct {
	Exit     int           `json:"exit"`
	State    string        `json:"state"`
	Reason   string        `json:"reason"`
	Ref      string        `json:"ref,omitempty"`
	Wall     time.Duration `json:"wall"`
	GateRuns int           `json:"gate_runs"`
	Until    int           `json:"until"` // gate runs of batches until the last one landed
	Attempts int           `json:"attempts"`
	Landed   int           `json:"landed"`
	Parked   []string      `json:"parked,omitempty"`
	Doubts   int           `json:"doubts,omitempty"`
	PeakMB   int           `json:"peak_mb"`
	DiskMB   int           `json:"disk_mb"`
	Said     string        `json:"said,omitempty"` // the end of what it printed, where it failed
	report   string        // what show prints of it, as JSON
}

// place is where one repository is tried.
type place struct {
	out                       io.Writer
	divisi, repo, state, work string
	env                       []string
}

// run carries a job out and measures it.
func (p *place) run(ctx context.Context, name string, j *job) (outcome, error) {
	role, plan, err := j.write(filepath.Join(p.work, name))
	if err != nil {
		return outcome{}, err
	}
	return p.divisiRun(ctx, "run", "--repo", p.repo, "--plan", plan, "--role", role, "--yes", "--trust-repo")
}

func (p *place) divisiRun(ctx context.Context, args ...string) (outcome, error) {
	cmd := exec.CommandContext(ctx, p.divisi, append(args, "--state-dir", p.state, "--output", "json")...)
	cmd.Env, cmd.Dir = p.env, p.work
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return outcome{}, fmt.Errorf("start %s: %w", p.divisi, err)
	}
	done := make(chan struct{})
	peak := make(chan int)
	go func() { peak <- peakMB(cmd.Process.Pid, done) }()
	err := cmd.Wait()
	close(done)
	o := outcome{Wall: time.Since(begin), PeakMB: <-peak, Exit: cmd.ProcessState.ExitCode()}
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return o, fmt.Errorf("run divisi: %w", err)
	}
	if o.Exit != 0 {
		o.Said = tail(said.String()+"\n"+lastReason(out.Bytes()), 1500)
	}
	o.Until = untilLanded(out.Bytes())
	return o, p.report(ctx, runOf(out.Bytes()), &o)
}

// untilLanded counts the gate runs of batches before the last batch that landed.
func untilLanded(events []byte) (until int) {
	runs := 0
	for line := range bytes.SplitSeq(events, []byte("\n")) {
		var e struct {
			Kind string `json:"kind"`
			Data struct {
				State string `json:"state"`
			} `json:"data"`
		}
		if json.Unmarshal(line, &e) != nil || e.Kind != "landing" {
			continue
		}
		switch e.Data.State {
		case "testing":
			runs++
		case "landed":
			until = runs
		}
	}
	return until
}

// peakMB is the most memory that a process had at once.
func peakMB(pid int, done <-chan struct{}) (peak int) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if _, after, ok := strings.Cut(string(data), "VmHWM:"); err == nil && ok {
			if fields := strings.Fields(after); len(fields) > 0 {
				kb, _ := strconv.Atoi(fields[0]) // the kernel writes a number
				peak = max(peak, kb/1024)
			}
		}
		select {
		case <-done:
			return peak
		case <-tick.C:
		}
	}
}

// runOf is the id of the run whose events these are.
func runOf(events []byte) string {
	var e struct {
		Run string `json:"run"`
	}
	line, _, _ := bytes.Cut(events, []byte("\n"))
	_ = json.Unmarshal(line, &e) // a run that did not start has no events
	return e.Run
}

func lastReason(events []byte) string {
	lines := bytes.Split(bytes.TrimSpace(events), []byte("\n"))
	return string(lines[len(lines)-1])
}

// report adds what `divisi show` knows of a run.
func (p *place) report(ctx context.Context, run string, o *outcome) error {
	if run == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, p.divisi, "show", run, "--state-dir", p.state, "--output", "json")
	cmd.Env, cmd.Dir = p.env, p.work
	data, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("show %s: %w", run, err)
	}
	var r struct {
		State    string `json:"state"`
		Reason   string `json:"reason"`
		Ref      string `json:"ref"`
		GateRuns int    `json:"gate_runs"`
		Tasks    []struct {
			ID       string            `json:"id"`
			State    string            `json:"state"`
			Attempts int               `json:"attempts"`
			Doubts   []json.RawMessage `json:"doubts"`
		} `json:"tasks"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("read the report of %s: %w", run, err)
	}
	o.State, o.Reason, o.Ref, o.GateRuns, o.report = r.State, tail(r.Reason, 400), r.Ref, r.GateRuns, string(data)
	for _, t := range r.Tasks {
		o.Attempts += t.Attempts
		o.Doubts += len(t.Doubts)
		switch t.State {
		case "landed", "unverified":
			o.Landed++
		case "parked":
			o.Parked = append(o.Parked, t.ID)
		}
	}
	o.DiskMB, err = diskMB(filepath.Join(p.state, "runs", run))
	return err
}

// diskMB returns the size of a directory on the disk.
func diskMB(dir string) (int, error) {
	var blocks int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				blocks += stat.Blocks
			}
		}
		return nil
	})
	return int(blocks * 512 >> 20), err
}

func tail(text string, n int) string {
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[max(0, len(text)-n):], "")
}
