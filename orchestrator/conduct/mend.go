package conduct

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/fault"
	"divisi/orchestrator/run"
)

// mirrorDir is the run's mirror in its directory; one that is made in its place has mended behind it.
const (
	mirrorDir = "repo.git"
	mended    = ".mended"
)

// soundMirror opens the mirror of the run whose log is b, and makes it again where it is damaged: from the repository, and from
// what the log refers to. Where that does not have all that landed, lost reports why: then h.mirror has what there is, and the
// damaged one stays where it is.
func (h *Half) soundMirror(ctx context.Context, b *bus.Bus, st *run.State) (lost, err error) {
	if err = h.openSound(ctx, st); !errors.Is(err, git.ErrMirror) {
		return nil, err
	}
	if h.Bus == nil { // no process has the run, and two must not mend it at once
		release, locked := bus.Lock(h.Dir.Bus(h.Spec.Run))
		if locked != nil {
			return nil, fmt.Errorf("make the mirror of run %s anew: %w", h.Spec.Run, locked)
		}
		defer func() { err = errors.Join(err, release()) }()
		if err = h.openSound(ctx, st); !errors.Is(err, git.ErrMirror) { // another process has mended it
			return nil, err
		}
	}
	h.Log.Warn().Err(err).Msg("the mirror of the run is rebuilt")
	return h.remakeMirror(ctx, b, st)
}

func (h *Half) openSound(ctx context.Context, st *run.State) (err error) {
	if h.Mirror, err = h.Git.OpenMirror(filepath.Join(h.Path, mirrorDir)); err == nil {
		err = h.Mirror.Sound(ctx, h.Spec.Base, st.Tip())
	}
	return err
}

// remakeMirror is soundMirror where h.mirror is damaged; nil for one that cannot be opened.
func (h *Half) remakeMirror(ctx context.Context, b *bus.Bus, st *run.State) (lost, err error) {
	dir, old := filepath.Join(h.Path, mirrorDir), h.Mirror
	if err := os.RemoveAll(dir + mended); err != nil {
		return nil, fmt.Errorf("remove an unfinished mirror: %w", err)
	}
	m, err := h.newMirror(ctx, dir+mended)
	if err != nil {
		return nil, fmt.Errorf("make the mirror of run %s anew: %w", h.Spec.Run, err)
	}
	lost = errors.Join(conductor.Restore(ctx, b, h.Spec.Run, m), m.Sound(ctx, h.Spec.Base, st.Tip()))
	if ctx.Err() != nil || fault.FullDisk(lost) {
		return nil, errors.Join(lost, ctx.Err())
	}
	if h.Mirror = m; lost != nil {
		return lost, nil
	}
	h.Notices = append(h.Notices, "the mirror of the run was damaged, and was rebuilt from the repository and the log")
	if st.Damaged || b.CutOff() != "" {
		if err := h.keepDamaged(ctx, old, m, st.Head); err != nil {
			return nil, err
		}
	}
	h.Mirror, err = m.Replace(dir)
	return nil, err
}

// keepDamaged keeps a damaged mirror that may have what the log has lost, and brings what landed by it into the new one, if it
// can still be read.
func (h *Half) keepDamaged(ctx context.Context, old, m *git.Repo, head string) error {
	if old != nil {
		if err := h.bringLanded(ctx, old, m, head); err != nil {
			h.Log.Warn().Err(err).Msg("the landed commits of the damaged mirror were not copied to the new one")
		}
		old.Close()
	}
	dir := filepath.Join(h.Path, mirrorDir)
	kept := dir + ".damaged-" + depot.NewID()
	if err := os.Rename(dir, kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the damaged mirror: %w", err)
	}
	h.Notices = append(h.Notices, "the log is not whole either, so the damaged mirror is kept in "+kept)
	return nil
}

func (h *Half) bringLanded(ctx context.Context, old, m *git.Repo, head string) error {
	ref := run.IntegrationRef(h.Spec.Run)
	at, err := old.Ref(ctx, ref)
	var data bytes.Buffer
	if err == nil {
		err = old.PackTo(ctx, &data, at, head)
	}
	if err == nil {
		err = m.ImportFrom(ctx, &data)
	}
	if err == nil {
		err = m.Whole(ctx, at)
	}
	if err != nil {
		return err
	}
	return m.UpdateRef(ctx, ref, at, "")
}

// wholeMirror is soundMirror for a run that is to continue.
func (h *Half) wholeMirror(ctx context.Context, st *run.State) error {
	lost, err := h.soundMirror(ctx, h.Bus, st)
	if lost != nil {
		return usage.With(fmt.Errorf("the mirror of run %s is damaged, and not all that landed can be found elsewhere: %w",
			h.Spec.Run, lost), usage.Damaged, h.Spec.Run)
	}
	return err
}

// keepCutOff tells that the store was made again and that the end of the log is lost, and keeps what landed by it: a run that
// continues does that work again. Another process can have appended to the log since, and then only the mirror's branch, which
// moves after the log, tells so.
func (h *Half) keepCutOff(ctx context.Context, st *run.State) error {
	if made := h.Bus.Remade(); made != "" {
		h.Notices = append(h.Notices, made)
	}
	if cut := h.Bus.CutOff(); cut != "" {
		h.Notices = append(h.Notices, cut+"; their content is done again")
	}
	found := *st
	err := h.findHead(ctx, &found)
	at := found.Head
	if err != nil || at == st.Head {
		return err
	}
	ref := "refs/divisi/cut-off/" + at
	if _, had := h.Mirror.Ref(ctx, ref); errors.Is(had, git.ErrNotFound) {
		err = h.Mirror.UpdateRef(ctx, ref, at, "")
	}
	h.Notices = append(h.Notices, fmt.Sprintf("the commits landed by then are kept in %s, as %s",
		filepath.Join(h.Path, mirrorDir), ref))
	return err
}

// wholeHead has a state end at the newest landing that the mirror has, and names the tasks of those behind it.
func (h *Half) wholeHead(ctx context.Context, st *run.State) (missing string, err error) {
	var tasks []string
	st.Head = st.Spec.Base
	for _, l := range slices.Backward(st.Batches.Landed) {
		if err = h.Mirror.Whole(ctx, l.Head); err == nil {
			st.Head = l.Head
			break
		}
		if !errors.Is(err, git.ErrMirror) {
			return "", err
		}
		tasks = append(tasks, run.Names(l.Tasks)...)
	}
	if len(tasks) == 0 { // what is lost had not landed
		return "", nil
	}
	slices.Sort(tasks)
	return text.Count(len(tasks), "landed task") + " cannot be found any more: " + text.Some(tasks, maxFields), nil
}
