package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// project is the .divisi/divisi.yaml of the plain script.
type project struct {
	Setup any `yaml:"setup"`
	Gates []struct {
		Name    string   `yaml:"name"`
		Command []string `yaml:"command"`
	} `yaml:"gates"`
}

func readProject(repo string) (p project, err error) {
	data, err := os.ReadFile(filepath.Join(repo, ".divisi", "divisi.yaml"))
	if err != nil {
		return p, err
	}
	return p, yaml.Unmarshal(data, &p)
}

// argv is the command of a setup, which is a list or has a field with one.
func (p *project) argv() (out []string) {
	list := p.Setup
	if m, ok := list.(map[string]any); ok {
		list = m["command"]
	}
	items, _ := list.([]any)
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

// script makes the change in a copy of the repository whose setup has run, commits it and runs the gates once, as a person's
// script would. It returns the time without the setup, and what failed; "" where all gates were green.
func (p *place) script(ctx context.Context, c *change, w *wrong) (took time.Duration, red string, err error) {
	dir := filepath.Join(p.work, "script")
	if err := p.prepared(ctx, dir); err != nil {
		return 0, "", err
	}
	files, err := c.files(ctx, dir)
	if err != nil {
		return 0, "", err
	}
	begin := time.Now()
	if err := p.in(ctx, dir, append([]string{"sh", "-c", c.script(w), "sh"}, files...)...); err != nil {
		return 0, "", err
	}
	err = p.in(ctx, dir, "git", "-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-qnam", "change")
	if err != nil {
		return 0, "", err
	}
	settings, err := readProject(p.repo)
	if err != nil {
		return 0, "", err
	}
	for _, g := range settings.Gates {
		command := make([]string, 0, len(g.Command))
		for _, arg := range g.Command {
			if arg == "{affected}" {
				arg = "./..."
			}
			command = append(command, arg)
		}
		red += p.failed(ctx, dir, command)
	}
	return time.Since(begin), red, nil
}

// failed runs a gate, and returns what its output says of failures, without times; "" where it passes.
func (p *place) failed(ctx context.Context, dir string, argv []string) string {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, p.env
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	return strings.Join(append(failures.FindAllString(string(out), -1), argv[0], err.Error(), "\n"), "\n")
}

var failures = regexp.MustCompile(`--- FAIL: \S+|\b\d+ (?:failed|failing|passed|passing)\b`)

// prepared makes the copy and runs setup in it, once; later it is put back to the base.
func (p *place) prepared(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return p.in(ctx, dir, "git", "reset", "-q", "--hard", "origin/HEAD")
	}
	if err := p.in(ctx, p.work, "git", "clone", "-q", p.repo, dir); err != nil {
		return err
	}
	settings, err := readProject(p.repo)
	if err != nil {
		return err
	}
	if setup := settings.argv(); len(setup) > 0 {
		return p.in(ctx, dir, setup...)
	}
	return nil
}

func (p *place) in(ctx context.Context, dir string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("run %s: %w: %s", argv[0], err, tail(string(out), 500))
	}
	return nil
}
