package worker

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/workspace"
)

// proves reports whether the attempt judges a patch with the cache of the gates below what its commands write.
func (at *attempt) proves() bool {
	return tests(at.assignment) && !at.assignment.Base && (at.judge() == nil || at.audience() == sandbox.Gates)
}

// layBuilds returns the layers of the build cache that the attempt's commands write over; none where they get a copy of it.
func (at *attempt) layBuilds() (layers []string, err error) {
	if !at.proves() {
		return nil, nil
	}
	cache, err := at.worker.cfg.Caches.Builds(sandbox.Gates)
	if err != nil {
		return nil, err
	}
	if sandbox.Views() == nil {
		return at.worker.builds.Below(at.commit, cmp.Or(at.assignment.Since, at.commit), cache), nil
	}
	at.copiedBuilds = filepath.Join(at.private, "builds")
	if err := errors.Join(workspace.Remove(at.copiedBuilds), workspace.CopyBuilds(at.copiedBuilds, cache)); err != nil {
		return nil, fmt.Errorf("copy the build cache: %w", err)
	}
	return nil, nil
}

// settleBuilds keeps what a green try of a batch has written over the build cache, and removes from that what is old once the
// gates on the base commit have marked what they use. Neither is needed for a result.
func (at *attempt) settleBuilds(r *spec.Result) {
	w := at.worker
	var err error
	switch left := at.keeper.Built(); {
	case at.assignment.Base && len(r.Receipts) > 0:
		var cache string
		if cache, err = w.cfg.Caches.Builds(sandbox.Base); err == nil {
			err = w.builds.Trim(cache)
		}
	case left != "" && r.Status == spec.StatusDone:
		if err = at.closeKeeper(); err == nil {
			err = w.builds.Keep(at.commit, left)
		}
	}
	if err != nil {
		at.log.Warn().Err(err).Msg("later gates compile more than they must, or the build cache keeps more than it must")
	}
}
