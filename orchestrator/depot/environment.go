package depot

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/store"
	"divisi/subagents/environment"
	"divisi/subagents/workspace"
)

// Environment is left for later runs by the setup of a repository, or taken from its checkout.
type Environment struct {
	ID, Digest, Dir string
	Made, Used      time.Time
	InUse           bool
	Damage          string   // why it cannot be used; "" for nothing
	Command         []string // of the setup; none where it was taken from the checkout
	Entries         int
	Bytes           int64
	Lays, Notes     []string // the paths that it puts into trees; what a person should know
	Manifest        json.RawMessage
	store           *environment.Store
}

// Environments lists those of a repository, the last used first. With whole the content of each is compared with what was made.
func Environments(ctx context.Context, stateDir, repo string, whole bool) ([]Environment, error) {
	g, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	checkout, err := g.Inspect(ctx, repo)
	if err != nil {
		return nil, err
	}
	id, err := checkout.Identity()
	if err != nil {
		return nil, err
	}
	caches := filepath.Join(store.Dir{Path: stateDir}.Caches(), id)
	s := environment.NewStore(environment.Below(caches), workspace.Remove, Now)
	list, err := s.List(whole)
	out := make([]Environment, len(list))
	for i := range list {
		l := &list[i]
		out[i] = Environment{
			ID: l.ID, Digest: l.Digest, Dir: l.Dir, Made: l.Made, Used: l.Used, InUse: l.InUse, Damage: l.Damage,
			Command: l.Recipe.Command, Entries: l.Entries, Bytes: l.Bytes, Lays: slices.Concat(l.Places, l.Files),
			Notes: l.Notes, store: s,
		}
		var merr error
		out[i].Manifest, merr = spec.JSON(l)
		err = errors.Join(err, merr)
	}
	return out, err
}

// Remove removes the environment. One that a run uses stays, which is a mistake of the caller.
func (e *Environment) Remove() error {
	err := e.store.Remove(e.ID)
	if errors.Is(err, environment.ErrInUse) {
		return usage.Errorf("environment %s is in use: end the run first", e.ID[:12])
	}
	return err
}
