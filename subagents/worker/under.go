package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"divisi/internal/sandbox"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"
)

// lay makes the work tree hold the attempt's commit and what lies under it, and nothing that an earlier command has left in
// either, or over the build cache. No command of the attempt may be running.
func (at *attempt) lay(ctx context.Context) error {
	if err := errors.Join(at.closeKeeper(), workspace.Remove(at.written())); err != nil {
		return fmt.Errorf("drop writes over the environment: %w", err)
	}
	on := workspace.Lay{Layers: at.under.Layers(), Files: map[string]string{}, Tested: tests(at.assignment)}
	if sandbox.ShowsLayers() {
		on.Shown = at.shown()
	}
	if at.under != nil {
		for _, name := range at.under.Files {
			on.Files[name] = at.under.Lower(name)
		}
	}
	views := at.under != nil && sandbox.Views() == nil
	on.Copy = !views
	at.copied = on.Copy
	at.slot.Lay(on)
	err := at.slot.Reset(ctx, at.commit)
	if _, content := errors.AsType[*workspace.ContentError](err); content {
		return &wire.RefusedError{Class: wire.FaultTree, Err: err}
	}
	var builds []string
	if err == nil {
		builds, err = at.layBuilds()
	}
	if err != nil || !views && !at.serves() && builds == nil {
		return err
	}
	if err := os.Mkdir(at.written(), 0o700); err != nil {
		return fmt.Errorf("make a private directory: %w", err)
	}
	place := at.ground()
	place.Fill = false // a setup may have been the last command
	at.keeper, err = sandbox.StartKeeper(ctx, sandbox.KeeperConfig{
		Place: place, Builds: builds, Scratch: at.written(), Loopback: at.serves(),
	})
	return err
}

// shown are the files that commands see another content of, which Git LFS keeps.
func (at *attempt) shown() (files []string) {
	for _, l := range at.beside {
		if info, err := os.Stat(l.Lower); err == nil && info.Mode().IsRegular() {
			files = append(files, l.Path)
		}
	}
	return files
}

// written is the directory of what commands write over the environment and the build cache.
func (at *attempt) written() string { return filepath.Join(at.private, "layers") }

// closeKeeper ends the stage that waits for the attempt's next command, and the keeper.
func (at *attempt) closeKeeper() error {
	err := at.ahead.Close()
	at.ahead = nil
	if at.keeper == nil {
		return err
	}
	defer func() { at.keeper = nil }()
	return errors.Join(err, at.keeper.Close())
}

// endStages is closeKeeper at the attempt's end, which has a result already.
func (at *attempt) endStages() {
	if err := at.closeKeeper(); err != nil {
		at.log.Warn().Err(err).Msg("the keeper of the attempt's commands, or a stage that waited for one, ended badly")
	}
}

// lookAhead lets the stages of an audience's commands be started ahead. One that waits for another audience's is ended.
func (at *attempt) lookAhead(audience sandbox.Audience) error {
	if at.ahead != nil && at.aheadFor == audience {
		return nil
	}
	err := at.ahead.Close()
	at.ahead, at.aheadFor = &sandbox.Ahead{}, audience
	if err != nil {
		return fmt.Errorf("end a stage that was started ahead: %w", err)
	}
	return nil
}
