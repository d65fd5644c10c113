package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/bus"
	"divisi/cmd/divisi/internal/doctor"
	"divisi/internal/git"
	"divisi/internal/text"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/store"
	"divisi/subagents/workspace"
)

const (
	day = 24 * time.Hour
	// beginTime is how long a run may take from its directory to its description.
	beginTime = time.Hour
)

// remover removes runs, and directories that demos and killed processes left.
type remover struct {
	*globals
	olderThan        string
	leftovers, local bool
	freed            uint64
}

func newRunsRm(g *globals) *cobra.Command {
	r := remover{globals: g}
	c := &cobra.Command{
		Use:   "rm [RUN...]",
		Short: "Remove runs that are not active: here, and on their NATS server",
		Long: `Remove the directory of each run, and on an external NATS server its events, objects and queues. A run
that is active is refused; one that is removed cannot be resumed, shown or published any more. Your
repository is not touched: a branch that was published stays.` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi runs rm 1f2e\n  divisi runs rm --older-than 30d --leftovers",
		RunE:    func(c *cobra.Command, args []string) error { return r.remove(c.Context(), args) },
	}
	f := c.Flags()
	f.StringVar(&r.olderThan, "older-than", "", "also remove inactive runs that began longer ago, such as 30d or 12h")
	f.BoolVar(&r.leftovers, "leftovers", false, "also what demos, dry runs and killed processes left more than a day ago")
	f.BoolVar(&r.local, "local", false, "remove only the local files, and leave the run on its NATS server")
	c.ValidArgsFunction = g.completeRuns
	return c
}

func (r *remover) remove(ctx context.Context, args []string) error {
	runs, err := r.chosen(args)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := r.removeRun(ctx, run); err != nil {
			return fmt.Errorf("remove run %s: %w", run, err)
		}
	}
	if r.leftovers {
		for _, dir := range r.left() {
			if err := r.removeDir(ctx, dir, dir, 0); err != nil {
				return err
			}
		}
	}
	if !r.json() {
		_, err = fmt.Fprintf(r.out, "freed %s\n", doctor.Bytes(r.freed))
	}
	return err
}

// chosen resolves the runs that are named or old enough. No name means none: it is most likely a variable that is not set.
func (r *remover) chosen(args []string) (runs []string, err error) {
	if len(args) == 0 && r.olderThan == "" && !r.leftovers {
		return nil, usagef("name the runs to remove, or give --older-than or --leftovers; see: divisi runs")
	}
	for _, name := range args {
		run, err := r.findRun([]string{name})
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	if r.olderThan != "" {
		age, err := parseAge(r.olderThan)
		if err != nil {
			return nil, err
		}
		ids, err := r.store().IDs()
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if began, ok := store.BeganAt(id); ok && now().Sub(began) > age && !bus.Locked(r.store().Bus(id)) {
				runs = append(runs, id)
			}
		}
	}
	slices.Sort(runs)
	return slices.Compact(runs), nil
}

// parseAge reads a time such as 30d, or one that Go knows.
func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * day, nil
		}
	}
	age, err := time.ParseDuration(text)
	if err != nil || age < 0 {
		return 0, usagef("--older-than %q is not a time such as 30d or 12h", text)
	}
	return age, nil
}

// removeRun holds the run's store meanwhile, so that no process resumes it, and removes it there first: it is still known
// here when that fails.
func (r *remover) removeRun(ctx context.Context, run string) (err error) {
	dir := r.store().Run(run)
	m, err := store.ReadMeta(dir)
	never := errors.As(err, new(*usageError))
	switch {
	case never && !old(dir, beginTime):
		return usagef("it has no description, because it may be starting now; try again in an hour")
	case err != nil && !never && !r.local:
		return fmt.Errorf(
			"%w\nThat file names its NATS server; to remove only its local files: divisi runs rm --local %s", err, run)
	}
	if err := os.MkdirAll(r.store().Bus(run), 0o700); err != nil {
		return err
	}
	release, err := bus.Lock(r.store().Bus(run))
	if errors.As(err, new(*bus.LockedError)) {
		return usagef("it is active: end it first with divisi cancel %s", run)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	var there uint64
	if m.NATS != "" && !r.local {
		if there, err = r.forget(ctx, run, m.NATS); err != nil {
			return fmt.Errorf("%w\nThe run is still here; to remove only its local files: divisi runs rm --local %s", err, run)
		}
	}
	if err := r.removeDir(ctx, run, dir, there); err != nil || r.json() {
		return err
	}
	branches := ""
	for ref, n := conductor.IntegrationRef(run), 2; hasRef(ctx, m.Repo, ref); n++ { // a retry may have made more: -2, -3
		branches += " " + strings.TrimPrefix(ref, "refs/heads/")
		ref = fmt.Sprintf("%s-%d", conductor.IntegrationRef(run), n)
	}
	if branches == "" {
		return nil
	}
	_, err = fmt.Fprintf(r.out, "its published branch stays; delete it with: git -C %s branch -D%s\n",
		text.Shell(m.Repo), branches)
	return err
}

// hasRef reports whether there is a repository here that has the ref.
func hasRef(ctx context.Context, repo, ref string) bool {
	g, err := git.New(ctx)
	if err != nil || repo == "" {
		return false
	}
	c, err := g.Inspect(ctx, repo)
	if err != nil {
		return false
	}
	_, err = g.Resolve(ctx, c, ref)
	return err == nil
}

func (r *remover) forget(ctx context.Context, run, url string) (freed uint64, err error) {
	b, err := bus.Open(ctx, bus.Options{URL: url, Log: r.log})
	if err != nil {
		return 0, err
	}
	defer r.store().Close(b)
	return b.Forget(ctx, run)
}

// old reports whether nothing was put into a directory of this user for some time.
func old(dir string, age time.Duration) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || now().Sub(info.ModTime()) <= age {
		return false
	}
	owner, known := git.OwnerOf(info)
	return !known || owner == os.Geteuid()
}

// left lists the directories that no run here needs and that nothing was put into for a day: temporary ones of this user, and
// those of runs that never began.
func (g *globals) left() (dirs []string) {
	ids, err := g.store().IDs()
	if err != nil {
		return nil // who calls has listed them
	}
	var repos []string
	for _, id := range ids {
		m, err := store.ReadMeta(g.store().Run(id))
		repos = append(repos, filepath.Dir(m.Repo))
		if errors.As(err, new(*usageError)) && old(g.store().Run(id), day) && !bus.Locked(g.store().Bus(id)) {
			dirs = append(dirs, g.store().Run(id))
		}
	}
	for _, kind := range []string{g.demos(), "doctor", "dry-run", "explain", "git", "probe", "shards"} {
		found, _ := filepath.Glob(filepath.Join(os.TempDir(), "divisi-"+kind+"-*")) // the pattern is right
		for _, dir := range found {
			if old(dir, day) && !slices.Contains(repos, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// removeDir removes a directory and prints its size, and the size of what a server removed.
func (r *remover) removeDir(ctx context.Context, what, dir string, there uint64) error {
	here, err := doctor.BytesBelow(ctx, dir)
	if err = errors.Join(err, workspace.Remove(dir)); err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	if r.freed += here + there; r.json() {
		return encodeLine(r.out, map[string]any{"removed": what, "bytes": here, "server_bytes": there})
	}
	text := doctor.Bytes(here)
	if there > 0 {
		text += ", and " + doctor.Bytes(there) + " on its NATS server"
	}
	_, err = fmt.Fprintf(r.out, "removed %s: %s\n", what, text)
	return err
}
