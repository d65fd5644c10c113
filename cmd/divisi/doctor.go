package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"divisi/orchestrator/console"
)

// finding is what a check saw, and what to do about it.
type finding struct {
	Check string `json:"check"`
	// Status is ok, warning (runs work, with less than there could be) or problem (runs fail).
	Status string `json:"status"`
	Seen   string `json:"seen"`
	Do     string `json:"do,omitempty"`
}

// The states of a finding.
const (
	statusOK      = "ok"
	statusWarning = "warning"
	statusProblem = "problem"
)

func fine(check, format string, args ...any) finding {
	return finding{Check: check, Status: statusOK, Seen: fmt.Sprintf(format, args...)}
}

func warn(check, do, format string, args ...any) finding {
	return finding{Check: check, Status: statusWarning, Seen: fmt.Sprintf(format, args...), Do: do}
}

func bad(check, do, format string, args ...any) finding {
	return finding{Check: check, Status: statusProblem, Seen: fmt.Sprintf(format, args...), Do: do}
}

// doctor looks at what runs need of this machine. Nothing is guessed: each check tries what it tells.
type doctor struct {
	*globals
	repo, nats string
	call       bool
}

func newDoctor(g *globals) *cobra.Command {
	d := doctor{globals: g}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check what runs need of this machine, and say what to do",
		Long: `Check git, the sandbox, the message server, keys, gates, disk, caches, optional programs and what earlier runs left
behind. Each finding is ok, a warning (runs work, with less than there could be) or a problem (runs
fail), with what to do. Gates are not run, and no model is called without --call.

Exit codes:
  0  no problem; there may be warnings
  1  a problem was found
  2  wrong usage or bad input`,
		Example: "  divisi doctor\n  divisi doctor --call --repo ../other\n  divisi doctor --output json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return d.examine(c.Context()) },
	}
	c.Flags().StringVar(&d.repo, "repo", ".", "the repository whose gates, models and roles are looked at")
	c.Flags().StringVar(&d.nats, "nats", "", "check the NATS server at this URL instead of the built-in one")
	c.Flags().BoolVar(&d.call, "call", false, "make one short call to each service of the project's models, for a few tokens")
	return c
}

// examine makes every check and tells each as soon as it is known.
func (d *doctor) examine(ctx context.Context) error {
	if err := checkDir(d.repo); err != nil {
		return err
	}
	problems := 0
	for _, check := range []func(context.Context) []finding{
		d.git, d.sandbox, d.bus, d.state, d.disk, d.caches, d.programs, d.project, d.leftovers,
	} {
		for _, f := range check(ctx) {
			if f.Status == statusProblem {
				problems++
			}
			if err := d.tell(f); err != nil {
				return err
			}
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	if problems > 0 {
		return &endError{codeParked, ""}
	}
	return nil
}

func (d *doctor) tell(f finding) error {
	if d.json() {
		return json.NewEncoder(d.out).Encode(f)
	}
	_, err := fmt.Fprintf(d.out, "%-8s %-10s %s\n", f.Status, f.Check, console.Sanitize(f.Seen))
	if err == nil && f.Do != "" {
		_, err = fmt.Fprintf(d.out, "%19s → %s\n", "", console.Sanitize(f.Do))
	}
	return err
}
