package publish

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
	"divisi/orchestrator/forge"
	"divisi/orchestrator/forge/credential"
	"divisi/orchestrator/forge/github"
	"divisi/orchestrator/forge/remote"
	"divisi/orchestrator/run"
)

// Wanted is what a person has said of the forge; all of it may be left out.
type Wanted struct {
	// Remote is the remote of the repository, Forge the kind of its forge, and Base the branch to merge into.
	Remote, Forge, Base string
	// Auto has the forge merge.
	Auto bool
}

// Target is a run with the repository at a forge that gets its pull requests.
type Target struct {
	Run      *client.Run
	State    *run.State
	Git      *git.Git
	Checkout *git.Checkout
	Mirror   *git.Repo

	Name       string // of the remote
	At         remote.Remote
	To         git.Remote
	Token      credential.Credential
	Forge      forge.Forge
	Repository forge.Repository
	Base       string
	BaseAt     string   // the commit of Base at the remote
	Told       []string // what a person is to know before

	wanted Wanted
}

// Close releases it.
func (t *Target) Close() { t.Mirror.Close() }

// Head implements publish.Branches.
func (t *Target) Head(ctx context.Context, branch string) (string, error) {
	return t.Mirror.RemoteHead(ctx, t.To, branch)
}

// Push implements publish.Branches.
func (t *Target) Push(ctx context.Context, branch, commit, had string) error {
	return t.Mirror.Push(ctx, t.To, branch, commit, had)
}

// Refresh folds what the log of the run has gained.
func (t *Target) Refresh(ctx context.Context) error {
	return t.Run.At.Log().Into(ctx, t.State, func(*contextscope.Event) {})
}

// Note appends to the log of the run, and reads what it has then.
func (t *Target) Note(ctx context.Context, d run.PullData) error {
	if d.Commit != "" {
		d.Remote = t.At.Scheme + "://" + t.At.Host + "/" + t.At.Path()
	}
	if _, err := t.Run.Act(ctx, act.NotePull{Pull: d}); err != nil {
		return err
	}
	return t.Refresh(ctx)
}

// Find finds the forge of a run, before anything is written; nil where its repository has none, or where the log of the run or
// its repository cannot be read.
func Find(ctx context.Context, r *client.Run, w Wanted) (t *Target, err error) {
	t = &Target{Run: r, State: run.NewState(), wanted: w}
	if err := t.Refresh(ctx); err != nil || t.State.Damaged || len(t.State.Unread) > 0 || t.State.Spec.Run == "" {
		return nil, nil //nolint:nilerr,nilnil // what the log cannot tell, who publishes the branch alone is told
	}
	if t.Git, err = git.New(ctx); err != nil {
		return nil, err
	}
	if t.Checkout, err = r.Dir.Inspect(ctx, t.Git, t.State.Spec.Repo); err != nil {
		return nil, nil //nolint:nilerr,nilnil // likewise
	}
	if found, err := t.choose(ctx); err != nil || !found {
		return nil, err
	}
	if t.Mirror, err = t.Git.OpenMirror(filepath.Join(r.Dir.Run(r.ID()), "repo.git")); err != nil {
		return nil, err
	}
	if err = t.open(ctx); err == nil {
		err = t.check(ctx)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// choose finds the remote that is at a forge.
func (t *Target) choose(ctx context.Context) (bool, error) {
	urls, err := t.Git.Remotes(ctx, t.Checkout)
	if err != nil {
		return false, err
	}
	if _, known := urls[t.wanted.Remote]; t.wanted.Remote != "" && !known {
		return false, usage.Errorf("%s has no remote %q; it has: %s", t.Checkout.Top, t.wanted.Remote,
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(urls)), ", "), "none"))
	}
	if kind := t.wanted.Forge; kind != "" && kind != remote.GitHub {
		return false,
			usage.Errorf("unknown kind of forge %q: pull requests are opened at github; publish the branch alone",
				kind)
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		if t.wanted.Remote != "" && name != t.wanted.Remote {
			continue
		}
		at, err := remote.Parse(urls[name], t.wanted.Forge)
		if err != nil {
			return false, err
		}
		if at.Kind == remote.GitHub {
			found, t.Name, t.At, t.To.URL = append(found, name), name, at, address(urls[name], at)
		}
	}
	if len(found) > 1 {
		return false, usage.Errorf("several remotes are at a forge, and one has to be named: %s", strings.Join(found, ", "))
	}
	return len(found) == 1, nil
}

// address is that of a remote without a secret, which git's arguments would show.
func address(url string, at remote.Remote) string {
	if !at.HTTP {
		return url
	}
	return at.Scheme + "://" + at.Host + "/" + at.Path() + ".git"
}

// open finds the credential of a person, and speaks to the forge for the first time.
func (t *Target) open(ctx context.Context) (err error) {
	finder := credential.Finder{Env: os.Getenv, Run: credential.Run(os.TempDir(), os.Environ())}
	if t.Token, err = finder.Find(ctx, t.At); err != nil {
		return fmt.Errorf("%w\nOr publish the branch alone", err)
	}
	if t.Forge, err = github.New(github.Options{
		API: t.At.API(), Owner: t.At.Owner, Name: t.At.Name, Token: t.Token.Secret, Silent: t.Token.Silent,
	}); err != nil {
		return err
	}
	if t.At.HTTP {
		args, env := t.Token.Git()
		for i := 1; i < len(args); i += 2 { // each behind a -c
			t.To.Config = append(t.To.Config, args[i])
		}
		t.To.Env = env
	}
	t.Repository, err = t.Forge.Repository(ctx)
	return err
}

// check refuses what cannot come to a good end, before the first write, and finds the branch to merge into.
func (t *Target) check(ctx context.Context) error {
	switch r := t.Repository; {
	case r.Archived:
		return usage.Errorf("%s is archived: nothing can be pushed to it", r.Name)
	case !r.MayPush:
		return usage.Errorf("%s may not push to %s: it needs the permissions %s", t.Token, r.Name, t.Permissions(false))
	case t.wanted.Auto && !r.Queue && !r.AutoMerge:
		return usage.Errorf("%s has no merge queue and does not allow auto-merge", r.Name)
	}
	if t.Repository.Fork {
		t.Told = append(t.Told, t.Repository.Name+
			" is a fork: the pull requests are opened in the fork itself; for others name another remote")
	}
	if !t.Repository.StartsCI {
		t.Told = append(t.Told, "pushes by "+t.Token.String()+" start no CI: checks that the branch needs will not report. "+
			"Use a token of a person or of an app")
	}
	return t.findBase(ctx)
}

// findBase chooses the branch to merge into, and refuses one that does not have what the run began with.
func (t *Target) findBase(ctx context.Context) (err error) {
	t.Base = cmp.Or(t.wanted.Base, t.State.Spec.Branch, t.Repository.Default)
	if t.BaseAt, err = t.Head(ctx, t.Base); err != nil {
		return err
	}
	if t.BaseAt == "" && t.wanted.Base == "" {
		t.Told = append(t.Told, fmt.Sprintf("%s has no branch %s: the base is its default branch, %s", t.Repository.Name, t.Base,
			t.Repository.Default))
		t.Base = t.Repository.Default
		if t.BaseAt, err = t.Head(ctx, t.Base); err != nil {
			return err
		}
	}
	if t.BaseAt == "" {
		return usage.Errorf("%s has no branch %s", t.Repository.Name, t.Base)
	}
	has, err := t.Mirror.Has(ctx, t.BaseAt)
	if err == nil && !has {
		t.BaseAt, err = t.Mirror.FetchBranch(ctx, t.To, t.Base)
	}
	if err != nil {
		return err
	}
	is, err := t.Mirror.IsAncestor(ctx, t.State.Spec.Base, t.BaseAt)
	if err != nil {
		return err
	}
	if !is {
		return usage.Errorf("%s at %s does not have the commit %.12s that run %s began with: commits were not pushed, or the "+
			"branch was rewritten\nPush them first, or choose another base", t.Base, t.Name, t.State.Spec.Base, t.State.Spec.Run)
	}
	return nil
}

// workflows is where GitHub's CI is described.
const workflows = ".github/workflows/"

// Permissions are what the credential needs, in the words of the forge.
func (*Target) Permissions(ci bool) string {
	list := "contents: write, pull requests: write"
	if ci {
		list += ", workflows: write"
	}
	return list
}

// ChangesCI reports whether what landed changes files of CI, and tells of workflows that a queue waits for in vain.
func (t *Target) ChangesCI(ctx context.Context) (bool, error) {
	changes, err := t.Mirror.Changed(ctx, t.State.Spec.Base, t.State.Head)
	if err != nil {
		return false, err
	}
	ci := slices.ContainsFunc(changes, func(c git.Change) bool { return strings.HasPrefix(c.Path, workflows) })
	if ci && !t.Repository.MayWorkflows {
		return ci, usage.Errorf("the changes touch %s, and %s may not change workflows: it needs the permissions %s", workflows,
			t.Token, t.Permissions(true))
	}
	if !t.wanted.Auto || !t.Repository.Queue {
		return ci, nil
	}
	files, err := t.Mirror.FilesUnder(ctx, t.BaseAt, strings.TrimSuffix(workflows, "/"))
	if err != nil {
		return ci, err
	}
	var deaf []string
	err = t.Mirror.ReadBlobs(ctx, files, func(e git.Entry, content []byte) error {
		if body := string(content); strings.Contains(body, "pull_request") && !strings.Contains(body, "merge_group") {
			deaf = append(deaf, e.Path)
		}
		return nil
	})
	if len(deaf) > 0 {
		t.Told = append(t.Told, "the merge queue gets no checks of workflows without merge_group: "+text.Some(deaf, maxNamed))
	}
	return ci, err
}

// Order is what is to be published, grouped.
func (t *Target) Order(per string) Order {
	return Order{Run: t.State, Repo: t.Mirror, Per: per, Base: t.Base, BaseHead: t.BaseAt}
}
