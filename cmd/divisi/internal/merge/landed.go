package merge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"divisi/internal/usage"
	"divisi/orchestrator/console/display"
)

// landed is what a run has published.
type landed struct {
	Run        string    `json:"run"`
	Repo       string    `json:"repo"`
	Base       string    `json:"base"`
	Head       string    `json:"head"`
	Ref        string    `json:"ref"`
	State      string    `json:"state"`
	Reason     string    `json:"reason"`
	Trial      bool      `json:"trial"`
	Ended      time.Time `json:"ended"`
	Unverified string    `json:"unverified"`
	// Gates are the final ones.
	Gates []struct{} `json:"gates"`
	// alone reports that no process continues it.
	alone bool
}

func (l *landed) branch() string { return strings.TrimPrefix(l.Ref, "refs/heads/") }

// told is what a person is to know before the merge.
func (l *landed) told() (lines []string) {
	switch {
	case len(l.Gates) == 0:
		lines = append(lines, "the final gates of run "+l.Run+" have not run")
	case l.State != "done":
		lines = append(lines, "run "+l.Run+" ended as "+l.State+": "+l.Reason)
	}
	if l.Unverified != "" {
		lines = append(lines, "unverified: "+l.Unverified)
	}
	return lines
}

// read reads the report of a run.
func (m *Command) read(ctx context.Context, id string) (l landed, err error) {
	s, err := m.Runs().Summary(m.Log.WithContext(ctx), id)
	if err != nil {
		return l, err
	}
	if err = json.Unmarshal(s.Report, &l); err != nil {
		return l, fmt.Errorf("read the report of run %s: %w", id, err)
	}
	l.alone = !l.Ended.IsZero() || s.State == "killed"
	return l, nil
}

// newest is the newest run of the repository that is more than a trial of setup and gates.
func (m *Command) newest(ctx context.Context) (string, error) {
	c, err := open(ctx, m.repo)
	if err != nil {
		return "", err
	}
	ids, err := m.Runs().List(ctx)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		l, err := m.read(ctx, id)
		if err != nil { // it may begin just now, for another repository
			m.Aside(display.Sanitize(fmt.Sprintf("run %s cannot be read, and is passed over: %v", id, err)))
			continue
		}
		if !l.Trial && c.isOf(ctx, l) {
			return id, nil
		}
	}
	return "", usage.Errorf("no run of %s is known %s; see: %s", c.top, m.Place(), m.Calls("divisi runs"))
}

// landed finds what a run has published in the repository of a checkout.
func (m *Command) landed(ctx context.Context, c *checkout, id string) (landed, error) {
	l, err := m.read(ctx, id)
	if err != nil {
		return l, err
	}
	switch at, err := c.git(ctx, "rev-parse", "--verify", "--quiet", l.Ref+"^{commit}"); {
	case !l.alone:
		return l, usage.Errorf("run %s is still going; watch it with: %s", id, m.Calls("divisi watch "+id))
	case l.Ref == "" && l.Head == l.Base:
		return l, usage.Errorf("run %s has landed nothing", id)
	case l.Ref == "":
		return l, usage.Errorf("run %s has not ended; continue it with: %s\nOr take what it has landed: %s", id,
			m.Calls("divisi resume "+id), m.Calls("divisi publish --branch "+id))
	case err != nil:
		return l, usage.Errorf("%s has no branch %s: the run was of %s", c.top, l.branch(), l.Repo)
	case at != l.Head:
		return l, usage.Errorf("the branch %s has other commits than run %s made: merge it by hand, with: git merge %[1]s",
			l.branch(), id)
	}
	return l, nil
}
