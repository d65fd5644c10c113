package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
)

// mirrorDir is the run's mirror in its directory; one that is made in its place has mended behind it.
const (
	mirrorDir = "repo.git"
	mended    = ".mended"
)

// soundMirror opens the mirror of the run whose log is b, and makes it anew where it is damaged: from the repository, and from
// what the log refers to. Where that does not have all that landed, lost says why: then h.mirror has what there is, and the
// damaged one stays where it is.
func (h *conduct) soundMirror(ctx context.Context, b *bus.Bus, st *run.State) (lost, err error) {
	dir, ends := filepath.Join(h.path, mirrorDir), []string{h.spec.Base, st.Head}
	if h.mirror, err = h.git.OpenMirror(dir); err == nil {
		err = h.mirror.Sound(ctx, ends...)
	}
	if !errors.Is(err, git.ErrMirror) {
		return nil, err
	}
	h.log.Warn().Err(err).Msg("the mirror of the run is made anew")
	if h.bus == nil { // no process has the run, and two must not mend it at once
		release, err := bus.Lock(h.dir.Bus(h.spec.Run))
		if err != nil {
			return nil, fmt.Errorf("make the mirror of run %s anew: %w", h.spec.Run, err)
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	if err := os.RemoveAll(dir + mended); err != nil {
		return nil, fmt.Errorf("remove an unfinished mirror: %w", err)
	}
	m, err := h.newMirror(ctx, dir+mended)
	if err != nil {
		return nil, fmt.Errorf("make the mirror of run %s anew: %w", h.spec.Run, err)
	}
	lost = errors.Join(conductor.Restore(ctx, b, h.spec.Run, m), m.Sound(ctx, ends...))
	if ctx.Err() != nil || fullDisk(lost) {
		return nil, errors.Join(lost, ctx.Err())
	}
	if h.mirror = m; lost != nil {
		return lost, nil
	}
	h.notices = append(h.notices, "the mirror of the run was damaged, and was made anew from the repository and the log")
	h.mirror, err = m.Replace(dir)
	return nil, err
}

// wholeMirror is soundMirror for a run that is to go on.
func (h *conduct) wholeMirror(ctx context.Context, st *run.State) error {
	lost, err := h.soundMirror(ctx, h.bus, st)
	if lost != nil {
		return usage.With(fmt.Errorf("the mirror of run %s is damaged, and not all that landed can be found elsewhere: %w",
			h.spec.Run, lost), usage.Damaged, h.spec.Run)
	}
	return err
}

// keepCutOff tells that the end of the log is lost, and keeps what landed by it: a run that goes on does that work again.
func (h *conduct) keepCutOff(ctx context.Context, st *run.State) error {
	cut := h.bus.CutOff()
	if cut == "" {
		return nil
	}
	h.notices = append(h.notices, cut+"; what they told is done again")
	at, err := h.mirror.Ref(ctx, conductor.IntegrationRef(h.spec.Run))
	if errors.Is(err, git.ErrNotFound) || err == nil && at == st.Head {
		return nil
	}
	ref := "refs/divisi/cut-off/" + at
	if _, had := h.mirror.Ref(ctx, ref); err == nil && errors.Is(had, git.ErrNotFound) {
		err = h.mirror.UpdateRef(ctx, ref, at, "")
	}
	h.notices = append(h.notices, fmt.Sprintf("what had landed by then is kept in %s, as %s",
		filepath.Join(h.path, mirrorDir), ref))
	return err
}

// wholeHead has a state end at the newest landing that the mirror has, and names the tasks of those behind it.
func (h *conduct) wholeHead(ctx context.Context, st *run.State) (missing string, err error) {
	var tasks []string
	st.Head = st.Spec.Base
	for _, l := range slices.Backward(st.Batches.Landed) {
		if err = h.mirror.Whole(ctx, l.Head); err == nil {
			st.Head = l.Head
			break
		}
		if !errors.Is(err, git.ErrMirror) {
			return "", err
		}
		tasks = append(tasks, run.Names(l.Tasks)...)
	}
	slices.Sort(tasks)
	return text.Count(len(tasks), "landed task") + " cannot be found any more: " + text.Some(tasks, maxFields), nil
}
