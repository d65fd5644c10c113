package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// settings are values of git's configuration by lower-case key, in the order in which they were set.
type settings map[string][]string

// inert are the settings of a user that report how files look on his disk. They can make nothing run.
var inert = strings.Fields(`core.filemode core.symlinks core.ignorecase core.precomposeunicode core.trustctime core.checkstat
	core.autocrlf core.eol core.sparsecheckout core.sparsecheckoutcone`)

func (s settings) last(key string) string {
	if v := s[key]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// inertFlags returns the harmless settings as "key=value"; later maps win.
func inertFlags(all ...settings) []string {
	var out []string
	for _, key := range inert {
		value := ""
		for _, s := range all {
			if v := s.last(key); v != "" {
				value = v
			}
		}
		if value != "" {
			out = append(out, key+"="+value)
		}
	}
	return out
}

// authorOf is who makes commits; empty where a part is not set. Later maps win.
func authorOf(all ...settings) (i Ident) {
	for _, s := range all {
		i.Name, i.Email = cmp.Or(identText(s.last("user.name")), i.Name), cmp.Or(identText(s.last("user.email")), i.Email)
	}
	if i.Name == "" || i.Email == "" {
		return Ident{}
	}
	return i
}

// identText is a name or an address without what git leaves out of one, too.
func identText(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>", r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "")), crud)
}

// userSettings reads the user's own global settings, also those for a git directory where he includes some by its path. Of that
// repository it reads nothing.
func (g *Git) userSettings(ctx context.Context, gitDir string) (settings, error) {
	args := []string{"config", "--includes", "-z", "--list"}
	out, err := g.exec(ctx, call{dir: Dir{GitDir: nowhere}, whole: g.userEnv, args: args})
	if err == nil && bytes.Contains(out, []byte("includeif.")) {
		args = []string{"config", "--global", "--includes", "-z", "--list"}
		var more []byte
		more, err = g.exec(ctx, call{dir: Dir{GitDir: gitDir}, whole: g.userEnv, args: args})
		out = append(out, more...)
	}
	if err != nil {
		return nil, fmt.Errorf("read your global git settings: %w", err)
	}
	return parseSettings(out), nil
}

// repoSettings reads a repository's settings files as plain data: no includes are followed.
func (g *Git) repoSettings(ctx context.Context, l layout) (settings, error) {
	all := settings{}
	for _, path := range []string{filepath.Join(l.commonDir, "config"), filepath.Join(l.gitDir, "config.worktree")} {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		out, err := g.exec(ctx, call{
			dir: Dir{GitDir: nowhere}, args: []string{"config", "--no-includes", "--file", path, "-z", "--list"},
		})
		if err != nil {
			return nil, fmt.Errorf("read the settings of the repository: %w", err)
		}
		for key, values := range parseSettings(out) {
			all[key] = append(all[key], values...)
		}
	}
	return all, nil
}

// parseSettings reads "key\nvalue\0"; a key without a value means true. What git itself was told on its command line
// (flags) comes last in a listing of everything and is left out.
func parseSettings(out []byte) settings {
	s := settings{}
	for item := range strings.SplitSeq(string(out), "\x00") {
		if item == "" {
			continue
		}
		key, value, ok := strings.Cut(item, "\n")
		if !ok {
			value = "true"
		}
		s[key] = append(s[key], value)
	}
	return s
}

// safeDirectories are the repositories that the user calls safe in spite of their owner; an empty entry clears those
// before it.
func (s settings) safeDirectories() []string {
	var safe []string
	for _, v := range s["safe.directory"] {
		if v == "" {
			safe = nil
			continue
		}
		safe = append(safe, filepath.Clean(expandHome(v)))
	}
	return safe
}

// globalExclude is the user's own list of ignored files.
func (s settings) globalExclude() string {
	if v := s.last("core.excludesfile"); v != "" {
		return expandHome(v)
	}
	if v := os.Getenv("XDG_CONFIG_HOME"); v != "" {
		return filepath.Join(v, "git", "ignore")
	}
	return expandHome("~/.config/git/ignore")
}

func expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(home, rest)
}
