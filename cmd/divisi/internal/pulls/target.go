package pulls

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/git"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/forge"
	"divisi/orchestrator/forge/credential"
	"divisi/orchestrator/forge/github"
	"divisi/orchestrator/forge/remote"
	"divisi/orchestrator/publish"
	"divisi/orchestrator/run"
)

// target is a run with the repository at a forge that gets its pull requests.
type target struct {
	run      *orchestrator.Run
	log      eventlog.Log
	st       *run.State
	git      *git.Git
	checkout *git.Checkout
	mirror   *git.Repo

	name   string // of the remote
	at     remote.Remote
	to     git.Remote
	token  credential.Credential
	forge  forge.Forge
	repo   forge.Repository
	base   string
	baseAt string   // the commit of base at the remote
	told   []string // what a person is to know before
}

func (t *target) close() { t.mirror.Close() }

// Head implements publish.Branches.
func (t *target) Head(ctx context.Context, branch string) (string, error) {
	return t.mirror.RemoteHead(ctx, t.to, branch)
}

// Push implements publish.Branches.
func (t *target) Push(ctx context.Context, branch, commit, had string) error {
	return t.mirror.Push(ctx, t.to, branch, commit, had)
}

// refresh folds what the log has gained.
func (t *target) refresh(ctx context.Context) error {
	t.log = t.run.At.Log()
	return t.log.Into(ctx, t.st, func(*event) {})
}

// target finds the forge of a run; nil where its repository has none, and where the log of the run cannot be read.
func (p *Command) target(ctx context.Context, r *orchestrator.Run) (t *target, err error) {
	t = &target{run: r, st: run.NewState()}
	if err := t.refresh(ctx); err != nil || t.st.Damaged || len(t.st.Unread) > 0 || t.st.Spec.Run == "" {
		return nil, nil //nolint:nilerr,nilnil // the branch alone can be published then, which says why
	}
	if t.git, err = git.New(ctx); err != nil {
		return nil, err
	}
	if t.checkout, err = r.Dir.Inspect(ctx, t.git, t.st.Spec.Repo); err != nil {
		return nil, nil //nolint:nilerr,nilnil // likewise
	}
	if found, err := p.choose(ctx, t); err != nil || !found {
		return nil, err
	}
	if !r.NotRunning() {
		if t.st.Status.Ended() {
			return nil, usage.Errorf("another process has run %s, such as a publish that is under way: try again when it has ended", r.ID())
		}
		return nil, usage.With(usage.Errorf("run %s is active: publish it when it has ended", r.ID()), usage.Running, r.ID())
	}
	if t.mirror, err = t.git.OpenMirror(filepath.Join(r.Dir.Run(r.ID()), "repo.git")); err != nil {
		return nil, err
	}
	if err = p.open(ctx, t); err == nil {
		err = p.check(ctx, t)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// choose finds the remote that is at a forge.
func (p *Command) choose(ctx context.Context, t *target) (bool, error) {
	urls, err := t.git.Remotes(ctx, t.checkout)
	if err != nil {
		return false, err
	}
	if _, known := urls[p.remote]; p.remote != "" && !known {
		return false, usage.Errorf("%s has no remote %q; it has: %s", t.checkout.Top, p.remote,
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(urls)), ", "), "none"))
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		if p.remote != "" && name != p.remote {
			continue
		}
		at, err := remote.Parse(urls[name], p.forge)
		if err != nil {
			return false, err
		}
		if at.Kind != "" {
			found, t.name, t.at, t.to.URL = append(found, name), name, at, urls[name]
		}
	}
	if len(found) > 1 {
		return false, usage.Errorf("several remotes are at a forge: choose one with --remote: %s", strings.Join(found, ", "))
	}
	return len(found) == 1, nil
}

// open finds the credential of a person, and speaks to the forge for the first time.
func (p *Command) open(ctx context.Context, t *target) (err error) {
	finder := credential.Finder{Env: os.Getenv, Run: credential.Run(os.TempDir(), os.Environ())}
	if t.token, err = finder.Find(ctx, t.at); err != nil {
		return err
	}
	switch t.at.Kind {
	case remote.GitHub:
		t.forge, err = github.New(github.Options{
			API: t.at.API(), Owner: t.at.Owner, Name: t.at.Name, Token: t.token.Secret, Silent: t.token.Silent,
		})
	default:
		err = usage.Errorf("pull requests at a forge of the kind %s are not supported: %s", t.at.Kind,
			p.Calls("divisi publish "+t.run.ID()+" --branch"))
	}
	if err != nil {
		return err
	}
	if t.at.HTTP {
		args, env := t.token.Git()
		for i := 1; i < len(args); i += 2 { // each behind a -c
			t.to.Config = append(t.to.Config, args[i])
		}
		t.to.Env = env
	}
	t.repo, err = t.forge.Repository(ctx)
	return err
}

// check refuses what cannot come to a good end, before the first write, and finds the branch to merge into.
func (p *Command) check(ctx context.Context, t *target) error {
	switch r := t.repo; {
	case r.Archived:
		return usage.Errorf("%s is archived: nothing can be pushed to it", r.Name)
	case !r.MayPush:
		return usage.Errorf("%s may not push to %s: it needs the permissions %s", t.token, r.Name, permissions(t, false))
	case p.auto && !r.Queue && !r.AutoMerge:
		return usage.Errorf("%s has no merge queue and does not allow auto-merge: leave --auto out", r.Name)
	}
	if t.repo.Fork {
		t.told = append(t.told, t.repo.Name+" is a fork: the pull requests are opened in the fork; for others name a --remote")
	}
	if !t.repo.StartsCI {
		t.told = append(t.told, "pushes by "+t.token.String()+" start no CI: checks that the branch needs will not report. "+
			"Use a token of a person or of an app")
	}
	return p.findBase(ctx, t)
}

// findBase chooses the branch to merge into, and refuses one that does not have what the run began with.
func (p *Command) findBase(ctx context.Context, t *target) (err error) {
	t.base = cmp.Or(p.base, t.st.Spec.Branch, t.repo.Default)
	if t.baseAt, err = t.Head(ctx, t.base); err != nil {
		return err
	}
	if t.baseAt == "" && p.base == "" {
		t.told = append(t.told, fmt.Sprintf("%s has no branch %s: the base is its default branch, %s", t.repo.Name, t.base,
			t.repo.Default))
		t.base = t.repo.Default
		if t.baseAt, err = t.Head(ctx, t.base); err != nil {
			return err
		}
	}
	if t.baseAt == "" {
		return usage.Errorf("%s has no branch %s", t.repo.Name, t.base)
	}
	has, err := t.mirror.Has(ctx, t.baseAt)
	if err == nil && !has {
		t.baseAt, err = t.mirror.FetchBranch(ctx, t.to, t.base)
	}
	if err != nil {
		return err
	}
	is, err := t.mirror.IsAncestor(ctx, t.st.Spec.Base, t.baseAt)
	if err != nil {
		return err
	}
	if !is {
		return usage.Errorf("%s at %s does not have the commit %.12s that run %s began with: commits were not pushed, or the "+
			"branch was rewritten\nPush them first, or choose another branch with --base", t.base, t.name, t.st.Spec.Base, t.st.Spec.Run)
	}
	return nil
}

// workflows is where GitHub's CI is described.
const workflows = ".github/workflows/"

// permissions are what the credential needs, in the words of the forge.
func permissions(t *target, ci bool) string {
	if t.at.Kind == remote.GitLab {
		return "api"
	}
	list := "contents: write, pull requests: write"
	if ci {
		list += ", workflows: write"
	}
	return list
}

// changesCI reports whether what landed changes files of CI, and tells of workflows that a queue waits for in vain.
func (p *Command) changesCI(ctx context.Context, t *target) (bool, error) {
	changes, err := t.mirror.Changed(ctx, t.st.Spec.Base, t.st.Head)
	if err != nil {
		return false, err
	}
	ci := slices.ContainsFunc(changes, func(c git.Change) bool { return strings.HasPrefix(c.Path, workflows) })
	if ci && !t.repo.MayWorkflows {
		return ci, usage.Errorf("the changes touch %s, and %s may not change workflows: it needs the permissions %s", workflows,
			t.token, permissions(t, true))
	}
	if !p.auto || !t.repo.Queue {
		return ci, nil
	}
	files, err := t.mirror.FilesUnder(ctx, t.baseAt, strings.TrimSuffix(workflows, "/"))
	if err != nil {
		return ci, err
	}
	var deaf []string
	err = t.mirror.ReadBlobs(ctx, files, func(e git.Entry, content []byte) error {
		if body := string(content); strings.Contains(body, "pull_request") && !strings.Contains(body, "merge_group") {
			deaf = append(deaf, e.Path)
		}
		return nil
	})
	if len(deaf) > 0 {
		t.told = append(t.told, "the merge queue gets no checks of workflows without merge_group: "+text.Some(deaf, maxNamed))
	}
	return ci, err
}

// maxNamed bounds the files and tasks that a line names.
const maxNamed = 5

// order is what is to be published.
func (p *Command) order(t *target) publish.Order {
	return publish.Order{Run: t.st, Repo: t.mirror, Per: p.per, Base: t.base, BaseHead: t.baseAt}
}
