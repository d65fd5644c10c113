package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"go.yaml.in/yaml/v3"
)

//go:embed repos.yaml
var listed []byte

// repo is one public repository of the matrix and what is done to it.
type repo struct {
	Name    string `yaml:"name"`
	Address string `yaml:"address"`
	Commit  string `yaml:"commit"`
	// Path is in front of PATH, Project in the place of what `divisi init` proposes.
	Path    string `yaml:"path"`
	Project string `yaml:"project"`
	Codemod change `yaml:"codemod"`
	// Unproven is how many shards of the codemod change what no gate can prove: these are asked about, and do not land.
	Unproven int `yaml:"unproven"`
	// Set, Broken, Failing and Forgotten are for repositories that are tried in full.
	Set       *change `yaml:"set"`
	Broken    *wrong  `yaml:"broken"`
	Failing   *wrong  `yaml:"failing"`
	Forgotten string  `yaml:"forgotten"` // a file with a caller that the set leaves out
	Mutants   *seeds  `yaml:"mutants"`
}

// change is a codemod: a sed script over the files that match.
type change struct {
	By    string `yaml:"by"`
	Glob  string `yaml:"glob"`
	Match string `yaml:"match"`
	Sed   string `yaml:"sed"`
}

// wrong breaks one shard of the codemod.
type wrong struct {
	File string `yaml:"file"`
	Sed  string `yaml:"sed"`
}

// seeds are where mutants are sown: in 25 files of the glob, which all get a comment.
type seeds struct {
	Glob    string `yaml:"glob"`
	Wrong   string `yaml:"wrong"` // the files that may be wrong
	Comment string `yaml:"comment"`
}

func repos() ([]repo, error) {
	var out []repo
	if err := yaml.Unmarshal(listed, &out); err != nil {
		return nil, fmt.Errorf("read repos.yaml: %w", err)
	}
	return out, nil
}

// files lists the tracked files of a directory that a change is about.
func (c *change) files(ctx context.Context, dir string) ([]string, error) {
	match, err := regexp.Compile(c.Match)
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "git", "-C", dir, "ls-files", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", dir, err)
	}
	var files []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if c.Glob != "" && !doublestar.MatchUnvalidated(c.Glob, name) {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if match.Match(text) {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files, nil
}

// script is a shell script that makes a change in the files that are its arguments, and makes one of them wrong.
func (c *change) script(w *wrong) string {
	s := fmt.Sprintf("sed -i -E -e %s \"$@\"", quoted(c.Sed))
	if w != nil {
		s += fmt.Sprintf("\nfor f in \"$@\"; do if [ \"$f\" = %s ]; then sed -i -E -e %s \"$f\"; fi; done",
			quoted(w.File), quoted(w.Sed))
	}
	return s
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
