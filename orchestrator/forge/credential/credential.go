// Package credential finds the token that a person has for a forge. A token is for one host, and goes to no other.
package credential

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"time"

	"divisi/internal/usage"
	"divisi/orchestrator/forge/remote"
)

// askTime bounds one program that is asked for a token.
const askTime = 20 * time.Second

// maxToken bounds what such a program prints.
const maxToken = 4096

// Credential is a token of a person for one host.
type Credential struct {
	Host, Scheme, User string
	Secret             string
	From               string // where it was found, in words
	// Silent is set where pushes by it start no CI: it is the token of a job of GitHub Actions.
	Silent bool
}

// String hides the token.
func (c Credential) String() string { return "the token of " + c.From }

// GoString hides the token.
func (c Credential) GoString() string { return c.String() }

// Finder asks what a person has.
type Finder struct {
	// Env is the environment of the person.
	Env func(name string) string
	// Run runs a program of the person with an input, outside of any repository, and returns what it prints.
	Run func(ctx context.Context, in string, command ...string) (string, error)
}

// Find returns the token for the host of r: of a variable, of the forge's own program, of git's credential helpers.
func (f Finder) Find(ctx context.Context, r remote.Remote) (Credential, error) {
	c := Credential{Host: r.Host, Scheme: r.Scheme, User: user(r.Kind)}
	for _, name := range f.variables(r) {
		if c.Secret = f.Env(name); c.Secret != "" {
			c.From = name
			c.Silent = name == "GITHUB_TOKEN" && f.Env("GITHUB_ACTIONS") == "true"
			return c, valid(c)
		}
	}
	for _, command := range programs(r) {
		if out, err := f.Run(ctx, "", command...); err == nil && out != "" {
			c.Secret, c.From = out, command[0]
			return c, valid(c)
		}
	}
	ask := "protocol=" + r.Scheme + "\nhost=" + r.Host + "\npath=" + r.Path() + "\n\n"
	out, err := f.Run(ctx, ask, "git", "credential", "fill")
	if err == nil {
		for line := range strings.Lines(out) {
			if secret, is := strings.CutPrefix(strings.TrimSpace(line), "password="); is && secret != "" {
				c.Secret, c.From = secret, "git's credential helper"
				return c, valid(c)
			}
		}
	}
	return c, usage.Errorf("there is no token for %s: log in with %s, or set %s", r.Host, program(r.Kind), f.variables(r)[0])
}

// variables are those whose token is for the host. One that names no host is for the public host of its forge alone.
func (f Finder) variables(r remote.Remote) (names []string) {
	public := r.Host == "github.com" || r.Host == "gitlab.com" || strings.HasSuffix(r.Host, ".ghe.com")
	if r.Host == f.Env("DIVISI_FORGE_HOST") || public && f.Env("DIVISI_FORGE_HOST") == "" {
		names = append(names, "DIVISI_FORGE_TOKEN")
	}
	switch {
	case r.Kind == remote.GitHub && public, r.Kind == remote.GitHub && f.Env("GITHUB_SERVER_URL") == r.Scheme+"://"+r.Host:
		names = append(names, "GH_TOKEN", "GITHUB_TOKEN")
	case r.Kind == remote.GitHub && r.Host == f.Env("GH_HOST"):
		names = append(names, "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
	case r.Kind == remote.GitLab && (public || r.Host == f.Env("GITLAB_HOST")):
		names = append(names, "GITLAB_TOKEN")
	}
	if len(names) == 0 {
		return []string{"DIVISI_FORGE_TOKEN with DIVISI_FORGE_HOST=" + r.Host}
	}
	return names
}

func programs(r remote.Remote) [][]string {
	switch r.Kind {
	case remote.GitHub:
		return [][]string{{"gh", "auth", "token", "--hostname", r.Host}}
	case remote.GitLab:
		return [][]string{{"glab", "config", "get", "token", "--host", r.Host}}
	}
	return nil
}

func program(kind string) string {
	switch kind {
	case remote.GitHub:
		return "gh auth login"
	case remote.GitLab:
		return "glab auth login"
	}
	return "git's credential helper"
}

// user is the name that goes with a token where git asks for one.
func user(kind string) string {
	if kind == remote.GitLab {
		return "oauth2"
	}
	return "x-access-token"
}

// valid refuses what is no token: it goes into headers, and into the answer to git.
func valid(c Credential) error {
	if len(c.Secret) > maxToken || strings.ContainsFunc(c.Secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return usage.Errorf("%s holds no token: it must be one word", c.From)
	}
	return nil
}

// Git are the arguments and the environment with which git gives the token to its host, and to no other. The token is in no
// argument.
func (c Credential) Git() (args, env []string) {
	const helper = `!f() { [ "$1" = get ] || return 0; while IFS= read -r l && [ -n "$l" ]; do case $l in ` +
		`"host=$DIVISI_FORGE_HOST") h=1;; "protocol=$DIVISI_FORGE_SCHEME") p=1;; esac; done; ` +
		`[ "$h$p" = 11 ] && printf 'username=%s\npassword=%s\n' "$DIVISI_FORGE_USER" "$DIVISI_FORGE_TOKEN"; return 0; }; f`
	return []string{"-c", "credential.helper=", "-c", "credential.helper=" + helper, "-c", "credential.useHttpPath=false"},
		[]string{
			"DIVISI_FORGE_HOST=" + c.Host, "DIVISI_FORGE_SCHEME=" + c.Scheme, "DIVISI_FORGE_USER=" + c.User,
			"DIVISI_FORGE_TOKEN=" + c.Secret, "GIT_TERMINAL_PROMPT=0",
		}
}

// Run runs a program for Finder: it asks nothing on a terminal, and sees no repository, whose settings could name a program.
func Run(dir string, env []string) func(ctx context.Context, in string, command ...string) (string, error) {
	return func(ctx context.Context, in string, command ...string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir, cmd.WaitDelay = dir, time.Second
		cmd.Env = append(env[:len(env):len(env)], "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=",
			"GIT_CEILING_DIRECTORIES="+dir,
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.askPass", "GIT_CONFIG_VALUE_0=", "GH_PROMPT_DISABLED=1")
		cmd.Stdin = strings.NewReader(in)
		var out bytes.Buffer
		cmd.Stdout = &out
		err := cmd.Run()
		return strings.TrimSpace(out.String()), err
	}
}
