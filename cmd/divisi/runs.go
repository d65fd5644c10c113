package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"

	"divisi/bus"
	"divisi/internal/machine"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/console"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

func newRuns(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:     "runs",
		Short:   "List the runs",
		Long:    "List the runs in the state directory, newest first." + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi runs\n  divisi runs --output json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return g.listRuns(c.Context()) },
	}
	c.AddCommand(newRunsRm(g))
	return c
}

func (g *globals) runsDir() string { return filepath.Join(g.stateDir, "runs") }

func (g *globals) runDir(run string) string { return filepath.Join(g.runsDir(), run) }

// busDir is where a run's store, lock and server.json are.
func (g *globals) busDir(run string) string { return filepath.Join(g.runDir(run), "bus") }

// runIDs lists the runs, newest first: their ids begin with the time.
func (g *globals) runIDs() ([]string, error) {
	entries, err := os.ReadDir(g.runsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && bus.ValidToken(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids, nil
}

// findTask resolves RUN[/TASK], or nothing at all: the newest run.
func (g *globals) findTask(args []string) (run, task string, err error) {
	if len(args) == 0 {
		run, err = g.findRun(nil)
		return run, "", err
	}
	name, task, parted := strings.Cut(args[0], "/")
	if parted && task == "" {
		return "", "", usagef("%q names no task behind the slash: is a variable not set?", args[0])
	}
	run, err = g.findRun([]string{name})
	return run, task, err
}

// findRun resolves a run's id, a part of it that only one run has, or nothing at all: the newest run. A name that is there and
// empty is most likely a variable that is not set, and must not become the newest run.
func (g *globals) findRun(args []string) (string, error) {
	if len(args) > 0 && args[0] == "" {
		return "", usagef("the name of the run is empty: is a variable not set? See: divisi runs")
	}
	ids, err := g.runIDs()
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", usagef("there are no runs in %s; start one with: divisi demo", g.stateDir)
	}
	if len(args) == 0 {
		return ids[0], nil
	}
	if slices.Contains(ids, args[0]) {
		return args[0], nil
	}
	var found []string
	for _, id := range ids {
		if strings.Contains(id, args[0]) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", usagef("there is no run %q%s\nSee: divisi runs", args[0], nearest(args[0], ids))
	default:
		return "", usagef("%q could be any of %s", args[0], strings.Join(found, ", "))
	}
}

// openRun connects to a run's store: to the process that carries the run out, else it holds the store itself for as long as
// it looks, which alone tells it.
func (g *globals) openRun(ctx context.Context, run string) (b *bus.Bus, alone bool, err error) {
	dir := g.busDir(run)
	meta, err := readMeta(g.runDir(run))
	if err != nil {
		return nil, false, err
	}
	if b, err := bus.Attach(ctx, dir); err == nil {
		return b, false, nil
	} else if !errors.Is(err, bus.ErrNoHolder) {
		return nil, false, fmt.Errorf("connect to the holder of run %s: %w", run, err)
	}
	b, err = g.openBus(ctx, run, meta.NATS)
	return b, true, err
}

// openBus makes this process the holder of a run's store, or connects it to the NATS server of the run.
func (g *globals) openBus(ctx context.Context, run, url string) (*bus.Bus, error) {
	b, err := bus.Open(ctx, bus.Options{Dir: g.busDir(run), URL: url, Run: run, Log: g.log})
	switch {
	case err == nil:
		return b, nil
	case url == "" || errors.As(err, new(*bus.LockedError)):
		return nil, errors.Join(fmt.Errorf("open the store of run %s: %w", run, err), machine.Room(g.busDir(run)))
	default:
		return nil, fmt.Errorf("use the NATS server of run %s: %w\n"+
			"Check the address given with --nats; without it Divisi brings its own server", run, err)
	}
}

// closeBus closes a store that a command only looked at; what goes wrong then is for the log.
func (g *globals) closeBus(b *bus.Bus) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		g.log.Warn().Err(err).Msg("the store did not close cleanly")
	}
}

// meta is run.json in a run's directory: what must be known before its log can be read.
type meta struct {
	Repo string `json:"repo"`
	// NATS is the external server's address; empty for the run's own store.
	NATS string `json:"nats,omitempty"`
	// Record is the directory of the recording that the run was begun with.
	Record string `json:"record,omitempty"`
	// Demo says that the repository is the demo's.
	Demo bool `json:"demo,omitempty"`
	// lost says that the file is not there any more. The run's own store has what is needed.
	lost bool
}

// metaPath is the description of the run whose directory is named.
func metaPath(dir string) string { return filepath.Join(dir, "run.json") }

func readMeta(dir string) (meta, error) {
	path := metaPath(dir)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return withoutMeta(dir)
	}
	if err != nil {
		return meta{}, fmt.Errorf("read a run's description: %w", err)
	}
	m, err := parseMeta(data)
	if err != nil {
		return m, fmt.Errorf("the run's description %s is damaged: %w\n"+
			"Remove this file: the run's log has what is needed. For a run with --nats write {\"nats\": "+
			"\"ADDRESS\"} into it", path, err)
	}
	return m, nil
}

func parseMeta(data []byte) (m meta, err error) {
	if err := json.Unmarshal(data, &m); err != nil {
		return meta{}, err
	}
	return m, nil
}

// withoutMeta is what is known of a run whose description is not there: it began if it has a store of its own.
func withoutMeta(dir string) (meta, error) {
	if _, err := os.Stat(filepath.Join(dir, "bus", "jetstream")); err == nil {
		return meta{lost: true}, nil
	}
	return meta{}, usagef("%s is missing, and there is no store beside it: run %s was killed before it began, or "+
		"begins just now\n"+
		"For a run with --nats write {\"nats\": \"ADDRESS\"} into that file; to remove the run: divisi runs rm %s",
		metaPath(dir), filepath.Base(dir), filepath.Base(dir))
}

// checkLog refuses a log without its first event: it was never written, or has been lost since.
func (g *globals) checkLog(st *run.State, run string) error {
	switch {
	case st.Spec.Run != "":
		return nil
	case len(st.Unread) > 0:
		return fmt.Errorf("the first event of run %s in %s cannot be read: %s", run, g.busDir(run), st.Unread[0])
	}
	store := g.busDir(run)
	if m, err := readMeta(g.runDir(run)); err == nil && m.NATS != "" {
		store = "that of its NATS server"
	}
	return usagef("run %s has no events: it was killed before its first one, or its store is damaged: %s\n"+
		"Put a copy of the store back if you have one, or start again with divisi run; to remove the run: divisi runs rm %s",
		run, store, run)
}

func writeMeta(dir string, m meta) error {
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("describe a run: %w", err)
	}
	if err := maybe.WriteFile(metaPath(dir), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("describe a run: %w", err)
	}
	return nil
}

func (g *globals) listRuns(ctx context.Context) error {
	ids, err := g.runIDs()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(g.out, 0, 0, 2, ' ', 0)
	for _, id := range ids {
		r, state, err := g.standing(ctx, id)
		switch {
		case err != nil && g.json():
			err = json.NewEncoder(g.out).Encode(map[string]string{"run": id, "error": err.Error()})
		case err != nil:
			_, err = fmt.Fprintf(w, "%s\tunreadable\t%s\n", id, console.Sanitize(errorLine(err)))
		case g.json():
			err = json.NewEncoder(g.out).Encode(r)
		default:
			_, err = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", id, state, progressOf(r), console.Sanitize(oneLine(r.Goal)))
		}
		if err != nil {
			return fmt.Errorf("print run %s: %w", id, err)
		}
	}
	if len(ids) == 0 && !g.json() {
		fmt.Fprintf(g.out, "There are no runs in %s. Start one with: divisi demo\n", g.stateDir)
	}
	return w.Flush()
}

// standing is how a run stands: its report, and its state in one word.
func (g *globals) standing(ctx context.Context, run string) (r report.Report, state string, err error) {
	if r, ok := g.summarised(run); ok {
		return r, string(r.State), nil
	}
	st, alone, err := g.foldRun(ctx, run)
	if err != nil {
		return r, "", err
	}
	return report.Of(st), stateOf(st, alone), nil
}

// errorLine is an error with its advice in one line.
func errorLine(err error) string { return oneLine(strings.ReplaceAll(err.Error(), "\n", "; ")) }

// stateOf is a run's state in one word. One that has not ended and that nobody carries out was killed, and appended nothing.
func stateOf(st *run.State, alone bool) string {
	if alone && !st.Status.Ended() {
		return "killed"
	}
	if st.Wait.For != "" {
		return "waiting"
	}
	if st.Halted() {
		return "paused"
	}
	return string(st.Status)
}

// progressOf counts what a run has come to. A task without a change is as good as landed.
func progressOf(r report.Report) string {
	n, all := map[run.TaskState]int{}, 0
	for _, t := range r.Tasks {
		if t.ID != run.MasterTask {
			n[t.State]++
			all++
		}
	}
	landed := n[run.TaskLanded]
	text := fmt.Sprintf("%d of %d landed%s", landed, all, unverifiedWord(landed > 0 && r.Unverified != ""))
	if done := n[run.TaskDone]; done > 0 {
		text += fmt.Sprintf(", %d without a change", done)
	}
	for _, q := range r.Quotas {
		text += "; " + console.Sanitize(q.String())
	}
	return text
}

// foldRun reads a run's log, and keeps what it tells of a run that has ended; alone says that no process carries the run out.
func (g *globals) foldRun(ctx context.Context, run string) (st *run.State, alone bool, err error) {
	b, alone, err := g.openRun(ctx, run)
	if err != nil {
		return nil, false, err
	}
	defer g.closeBus(b)
	if st, err = g.fold(ctx, b, run); err == nil && alone {
		g.summarise(st)
	}
	return st, alone, err
}

// fold reads the log of a run that has begun.
func (g *globals) fold(ctx context.Context, b *bus.Bus, run string) (*run.State, error) {
	st, err := conductor.Fold(ctx, b, run)
	if err != nil {
		return nil, err
	}
	return st, g.checkLog(st, run)
}
