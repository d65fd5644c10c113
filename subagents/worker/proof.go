package worker

import (
	"context"
	"strings"

	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/environment"
	"divisi/subagents/tester"
	"divisi/subagents/wire"
)

// fresh prepares a gate or the setup.
func (at *attempt) fresh(who sandbox.Audience) (tester.Ground, error) {
	err := at.environment(who)
	return tester.Ground{Env: at.env, Place: at.ground(), Writable: at.cache.Writable, Readable: at.readable}, err
}

// blobs returns the ids of the regular files of the attempt's commit.
func (at *attempt) blobs(ctx context.Context) (map[string]string, error) {
	entries, err := at.worker.cfg.Mirror.Files(ctx, at.commit)
	ids := make(map[string]string, len(entries))
	for _, e := range entries {
		if e.Mode == git.ModeFile || e.Mode == git.ModeExec {
			ids[e.Path] = e.OID
		}
	}
	return ids, err
}

// outline returns what a command sees of the attempt's commit without opening a file.
func (at *attempt) outline(ctx context.Context) (string, error) {
	entries, err := at.worker.cfg.Mirror.Files(ctx, at.commit)
	lines := make([]string, 0, len(entries))
	for _, e := range entries {
		if strings.HasPrefix(e.Path, ".divisi/") { // what runs on it, not what it is
			continue
		}
		line := e.Path + "\x00" + e.Mode
		switch {
		case e.Mode != git.ModeFile && e.Mode != git.ModeExec: // a link is read without being opened
			line += e.OID
		case e.Size == 0:
			line += "-"
		}
		lines = append(lines, line)
	}
	return environment.Outline(lines), err
}

// changed returns the paths in which the attempt's commit differs from another one.
func (at *attempt) changed(ctx context.Context, since string) ([]string, error) {
	changes, err := at.worker.cfg.Mirror.Changed(ctx, since, at.commit)
	paths := make([]string, 0, len(changes))
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	return paths, err
}

// sign signs a receipt with the worker's key.
func (at *attempt) sign(r *spec.Receipt) error {
	cfg := &at.worker.cfg
	if cfg.Key == nil {
		return nil
	}
	r.Agent = at.assignment.Agent()
	return wire.Sign(at.assignment.Run, cfg.Name, cfg.Key, r)
}

func (at *attempt) tester() *tester.Executor {
	t := &tester.Executor{
		Environ:    at.worker.cfg.Environ,
		Assignment: at.assignment, Journal: at.journal, Dir: at.slot.Dir(), Tree: at.tested,
		Restore: func(ctx context.Context) ([]string, error) { return at.slot.Restore(ctx, at.commit) },
		Even:    func(ctx context.Context) error { return at.slot.Even(ctx, at.commit) },
		Blobs:   at.blobs, Outline: at.outline, Read: at.read, Origin: at.worker.cfg.Mirror.Base(), Changed: at.changed,
		ReadAt: at.readAt,
		Caches: at.worker.cfg.Caches, Environments: at.worker.cfg.Environments, Under: at.under,
		Elsewhere: at.worker.cfg.Fetch != nil, Places: at, Digest: at.digest, Beside: at.worker.cfg.Checkout.Digest(),
		Fresh: at.fresh, Services: at.services, Outputs: at.worker.cfg.Outputs, Limiter: at.worker.cfg.Gates,
		Bounds: at.bounds(), Room: at.lacks, Pauses: at.worker.cfg.Pauses,
		Doing:  at.progress.doing,
		Worker: at.worker.cfg.Name, Sign: at.sign,
		Judge: at.judge(), Objects: at.worker.cfg.Bus,
	}
	if at.worker.cfg.Foreign != nil {
		t.Foreign = at.foreign
	}
	return t
}
