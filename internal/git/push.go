package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Remote is a repository elsewhere, as the user of this process reaches it: by their own settings and helpers, and by what Config
// and Env add to them. A secret belongs into Env.
type Remote struct {
	URL         string
	Config, Env []string
}

// remoteProtocols are those that a repository is reached by; others can run commands.
const remoteProtocols = "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh"

// Remotes are the addresses that the user's git pushes to, by the name of the remote.
func (g *Git) Remotes(ctx context.Context, c *Checkout) (map[string]string, error) {
	out, err := g.exec(ctx, call{dir: Dir{GitDir: c.GitDir}, own: true, args: []string{"remote", "-v"}})
	if err != nil {
		return nil, fmt.Errorf("list the remotes of %s: %w", c.Top, err)
	}
	urls := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "\t")
		url, push := strings.CutSuffix(rest, " (push)")
		if !push || urls[name] != "" {
			continue
		}
		if before, _, host := strings.Cut(url, ":"); !host || strings.Contains(before, "/") {
			url = resolve(c.Top, url) // a path
		}
		urls[name] = url
	}
	return urls, nil
}

// RemoteHead is the commit of a branch of a remote; "" where the remote has no such branch.
func (r *Repo) RemoteHead(ctx context.Context, from Remote, branch string) (string, error) {
	out, err := r.reach(ctx, from, "ls-remote", "--quiet", "--", from.URL, "refs/heads/"+branch)
	if err != nil {
		return "", fmt.Errorf("look for the branch %s of the remote: %w", branch, err)
	}
	id, _, _ := strings.Cut(string(out), "\t")
	if id != "" && !ValidID(id) {
		return "", fmt.Errorf("look for the branch %s of the remote: %w", branch, errFormat)
	}
	return id, nil
}

// FetchBranch brings a branch of a remote into this repository and returns its commit.
func (r *Repo) FetchBranch(ctx context.Context, from Remote, branch string) (commit string, err error) {
	ref := "refs/fetched/" + branch
	if err = ValidRef(ref); err == nil {
		_, err = r.reach(ctx, from, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--",
			from.URL, "+refs/heads/"+branch+":"+ref)
	}
	if err == nil {
		commit, err = r.Ref(ctx, ref)
	}
	if err != nil {
		return "", fmt.Errorf("fetch the branch %s of the remote: %w", branch, err)
	}
	return commit, nil
}

// Push puts a commit on a branch of a remote, where that branch is at had; "" for a branch that the remote does not have. Where
// it is not, nothing changes, and the error is ErrStale. No hook runs here.
func (r *Repo) Push(ctx context.Context, to Remote, branch, commit, had string) error {
	ref := "refs/heads/" + branch
	if err := errors.Join(ValidRef(ref), checkIDs(commit)); err != nil {
		return fmt.Errorf("push %s: %w", branch, err)
	}
	out, err := r.reach(ctx, to, "push", "--quiet", "--porcelain", "--no-verify", "--no-follow-tags", "--no-recurse-submodules",
		"--no-signed", "--force-with-lease="+ref+":"+had, "--", to.URL, commit+":"+ref)
	for line := range strings.Lines(string(out)) { // "!", from and to, and why
		if fields := strings.Split(strings.TrimSpace(line), "\t"); err != nil && fields[0] == "!" && len(fields) > 2 {
			err = fmt.Errorf("%s: %w", fields[2], err)
			if strings.HasSuffix(fields[2], "(stale info)") {
				err = fmt.Errorf("%w: %w", ErrStale, err)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("push %.12s to %s: %w", commit, branch, err)
	}
	return nil
}

// IsAncestor reports whether a commit is another one, or is in the history of it.
func (r *Repo) IsAncestor(ctx context.Context, commit, of string) (bool, error) {
	if err := checkIDs(commit, of); err != nil {
		return false, err
	}
	_, err := r.run(ctx, "merge-base", "--is-ancestor", commit, of)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// reach runs a subcommand that speaks to a remote.
func (r *Repo) reach(ctx context.Context, at Remote, args ...string) ([]byte, error) {
	return r.g.exec(ctx, call{
		dir: Dir{GitDir: r.dir}, own: true, args: args, config: append([]string{"fetch.unpackLimit=1"}, at.Config...),
		env: append([]string{remoteProtocols, "LC_ALL=C"}, at.Env...),
	})
}
