package orchestrator

import (
	"errors"
	"fmt"
	"os"

	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/orchestrator/mirrors"
	"divisi/subagents/wire"
)

func gitRefs(r wire.Refs) git.Refs {
	return git.Refs{
		Branch: r.Branch, Remote: r.Remote, Default: r.Default, Main: r.Main, Upstream: r.Upstream, Init: r.Init,
		Ends: git.Ends{AutoCRLF: r.AutoCRLF, EOL: r.EOL},
	}
}

func wireRefs(r git.Refs) wire.Refs {
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

// collections are what the machine keeps of repositories. The trash is open.
func (p *place) collections(g *git.Git, notice func(string)) (*mirrors.Store, error) {
	s := &mirrors.Store{
		Git: g, Dir: p.dir.Mirrors(), Limit: mirrors.Limit, Discard: p.trash.Put, Clock: now, Notice: notice,
	}
	// What other repositories have is none of this run's commands' business.
	if err := errors.Join(os.MkdirAll(s.Dir, 0o700), sandbox.Hide(s.Dir)); err != nil {
		return nil, fmt.Errorf("make the place of mirrors: %w", err)
	}
	return s, nil
}
