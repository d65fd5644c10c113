package depot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/orchestrator/mirrors"
	"divisi/subagents/wire"
)

const (
	// leftHeads bounds the commits that a run leaves for the next one; leaveTime how long that may take.
	leftHeads = 4
	leaveTime = 10 * time.Second
)

func gitRefs(r wire.Refs) git.Refs {
	return git.Refs{
		Branch: r.Branch, Remote: r.Remote, Default: r.Default, Main: r.Main, Upstream: r.Upstream, Init: r.Init,
		Ends: git.Ends{AutoCRLF: r.AutoCRLF, EOL: r.EOL},
	}
}

// WireRefs are the names that commits have in a repository, as a setup carries them.
func WireRefs(r git.Refs) wire.Refs {
	return wire.Refs{
		Branch: r.Branch, Remote: r.Remote, Default: r.Default, Main: r.Main, Upstream: r.Upstream, Init: r.Init,
		AutoCRLF: r.Ends.AutoCRLF, EOL: r.Ends.EOL,
	}
}

// keepRefs has a mirror keep the names that came with a run; earlier versions send none.
func keepRefs(r *git.Repo, refs git.Refs) error {
	if refs == (git.Refs{}) {
		return nil
	}
	return r.KeepRefs(refs)
}

// collections are this machine's cached repositories. The trash is open.
func (p *Place) collections(g *git.Git, notice func(string)) (*mirrors.Store, error) {
	s := &mirrors.Store{
		Git: g, Dir: p.Dir.Mirrors(), Limit: mirrors.Limit, Discard: p.Trash.Put, Clock: Now, Notice: notice,
	}
	// What other repositories have is none of this run's commands' business.
	if err := errors.Join(os.MkdirAll(s.Dir, 0o700), sandbox.Hide(s.Dir)); err != nil {
		return nil, fmt.Errorf("make the place of mirrors: %w", err)
	}
	return s, nil
}

// Take makes the mirror of the base commit that a setup names, at a directory, from what this machine keeps of the repository,
// from its remote there, "" for none, and from packs with what is not there. leave has the next run on this machine find what
// this one has got: the heads that it was brought, the last one last.
func (p *Place) Take(
	ctx context.Context, g *git.Git, notice func(string), remote string, setup *wire.Setup, dir string,
	commits, past mirrors.Source,
) (r *git.Repo, leave func(heads []string), err error) {
	s, err := p.collections(g, notice)
	if err != nil {
		return nil, nil, err
	}
	s.Remote = remote
	m := mirrors.Mirror{Dir: dir, Commit: setup.Base, Exclude: setup.Exclude}
	held, r, err := s.Open(ctx, setup.Caches, m, commits)
	if err != nil {
		return nil, nil, fmt.Errorf("get the base commit of run %s: %w", setup.Run, err)
	}
	err = keepRefs(r, gitRefs(setup.Refs))
	if err == nil {
		err = keepPast(ctx, s, setup.Caches, r, setup.Past, past)
	}
	if err != nil {
		return nil, nil, errors.Join(err, held.Close())
	}
	return r, func(heads []string) {
		ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
		defer cancel()
		err := held.Leave(ctx, r, heads[max(0, len(heads)-leftHeads):]...)
		if err = errors.Join(err, held.Close()); err != nil {
			p.Log.Warn().Err(err).Msg("the mirror of the repository was not brought up to date")
		}
	}, nil
}
