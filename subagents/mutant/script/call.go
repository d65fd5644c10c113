package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/subagents/mutant"
)

// runner is a runner of tests of JavaScript: how it is told to run files alone, and to tell of each test.
type runner struct {
	name string
	// flags have it tell of tests, REPORT is a file for that; without one its output does.
	flags []string
	// only has it run tests whose names match an expression; "" where it cannot.
	only string
	// off are options of a gate, without their dashes, that end a run early, or measure what no mutant needs.
	off []string
}

const reportFile = "report"

var runners = []runner{
	{
		"jest",
		[]string{"--ci", "--json", "--outputFile=REPORT", "--coverage=false", "--runTestsByPath"},
		"--testNamePattern",
		strings.Fields("bail b collectCoverage coverageThreshold watch watchAll u updateSnapshot"),
	},
	{
		"vitest",
		[]string{"--run", "--reporter=json", "--outputFile=REPORT", "--coverage.enabled=false"},
		"--testNamePattern",
		strings.Fields("bail coverage watch w u update"),
	},
	{
		"mocha",
		[]string{"--reporter", "tap", "--exit"},
		"--grep",
		strings.Fields("bail b R watch w parallel p"),
	},
	{
		"node",
		[]string{"--test", "--test-reporter=tap", "--test-reporter-destination=REPORT"},
		"--test-name-pattern",
		strings.Fields("experimental-test-coverage watch"),
	},
	{"ava", []string{"--tap"}, "", strings.Fields("fail-fast watch w verbose v update-snapshots u")},
	{"tape", nil, "", nil},
	{"brittle", nil, "", strings.Fields("bail coverage c cov")},
	{"tap", []string{"--reporter=tap", "--disable-coverage", "--allow-incomplete-coverage"}, "", strings.Fields("bail R")},
}

// call is a command of a project that runs tests: in a directory of the tree, with variables.
type call struct {
	dir       string
	env, args []string
	of        *runner
}

// manifest is the part of a package.json that is of use.
type manifest struct {
	Name    string            `json:"name"`
	Scripts map[string]string `json:"scripts"`
}

var (
	assigned = lazyregexp.New(`^[A-Za-z_]\w*=`)
	// wrappers are programs that run the command behind them, managers run scripts of a package.
	wrappers = strings.Fields("env cross-env npx bunx nyc c8 dotenv -- exec dlx time")
	managers = strings.Fields("npm pnpm yarn bun")
)

// callOf is the command that runs the tests of a file: that of the nearest package with one that is understood, else that of
// a gate.
func (l *Language) callOf(p mutant.Place, file string) (*call, error) {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		var manifest manifest
		data, err := os.ReadFile(filepath.Join(p.Dir, dir, "package.json"))
		if err == nil && json.Unmarshal(data, &manifest) == nil {
			for _, name := range l.scriptsOf(manifest) {
				if c := expand(manifest, dir, mutant.Words(manifest.Scripts[name]), 0); c != nil {
					return c, nil
				}
			}
		}
		if dir == "." || dir == "/" {
			break
		}
	}
	for _, command := range l.gates {
		if c := expand(manifest{}, ".", command, 0); c != nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("run the tests of %s alone: %w: no script of its package and no gate calls a runner that can",
		file, mutant.ErrRefused)
}

// scriptsOf are the scripts of a package that may run tests: first those that gates name.
func (l *Language) scriptsOf(manifest manifest) (names []string) {
	for _, command := range l.gates {
		names = append(names, command...)
	}
	names = append(names, "test")
	for _, name := range slices.Sorted(maps.Keys(manifest.Scripts)) {
		if strings.HasPrefix(name, "test") || strings.HasPrefix(name, "unit") {
			names = append(names, name)
		}
	}
	return names
}

// maxExpand bounds scripts that call one another.
const maxExpand = 4

// expand is the first command of some words that calls a runner; nil for none.
func expand(manifest manifest, dir string, list []string, depth int) *call {
	if depth > maxExpand {
		return nil
	}
	for from := 0; from < len(list); {
		end := from
		for end < len(list) && list[end] != "&&" && list[end] != ";" {
			end++
		}
		if c := one(manifest, dir, list[from:end], depth); c != nil {
			return c
		}
		from = end + 1
	}
	return nil
}

// one is a command that calls a runner.
func one(manifest manifest, dir string, list []string, depth int) *call {
	var env []string
	for len(list) > 0 {
		name := path.Base(list[0])
		switch {
		case assigned.MatchString(list[0]):
			env = append(env, list[0])
		case slices.Contains(wrappers, name):
			if i := slices.IndexFunc(list[1:], starts); i >= 0 {
				list = list[i:]
			}
		case (name == "sh" || name == "bash") && len(list) > 2 && list[1] == "-c":
			return with(env, expand(manifest, dir, mutant.Words(list[2]), depth+1))
		case slices.Contains(managers, name):
			return with(env, managed(manifest, dir, list[1:], depth))
		default:
			of := runnerOf(list[0])
			// Such as node --experimental-vm-modules node_modules/jest/bin/jest.js.
			if name == "node" && !slices.Contains(list, "--test") {
				i := slices.IndexFunc(list[1:], func(word string) bool { return runnerOf(word) != nil }) + 1
				if of = nil; i > 0 {
					env, of, list = append(env, "NODE_OPTIONS="+strings.Join(list[1:i], " ")), runnerOf(list[i]), list[i:]
				}
			}
			if of == nil {
				return nil
			}
			return &call{dir: dir, env: env, args: list, of: of}
		}
		list = list[1:]
	}
	return nil
}

// runnerOf is the runner that a word of a command is, or the script of it; nil for none.
func runnerOf(word string) *runner {
	name := strings.TrimSuffix(strings.TrimSuffix(path.Base(word), ".js"), ".mjs")
	if i := slices.IndexFunc(runners, func(r runner) bool { return r.name == name }); i >= 0 {
		return &runners[i]
	}
	return nil
}

// starts reports whether a command can begin with a word, behind the options of what wraps it.
func starts(word string) bool {
	name := path.Base(word)
	known := name == "sh" || slices.Contains(wrappers, name) || slices.Contains(managers, name)
	return known || assigned.MatchString(word) || runnerOf(word) != nil
}

func with(env []string, c *call) *call {
	if c != nil {
		c.env = append(env, c.env...)
	}
	return c
}

// managed is the command of a script of the package, or one that a manager runs itself.
func managed(manifest manifest, dir string, list []string, depth int) *call {
	for i, word := range list {
		if script := manifest.Scripts[word]; script != "" {
			return expand(manifest, dir, append(mutant.Words(script), list[i+1:]...), depth+1)
		}
		if !strings.HasPrefix(word, "-") && word != "run" && word != "exec" {
			return one(manifest, dir, list[i:], depth+1)
		}
	}
	return nil
}

// takes are options whose value is the next word, without their dashes.
var takes = strings.Fields("r require import loader experimental-loader c config u ui t timeout project " +
	"projects root rootDir env environment testEnvironment extension conditions C file pool i ignore " +
	"testTimeout maxWorkers dir mode env-file node-arguments N")

// options are the words of a runner without files, and without those that are off.
func (c *call) options() (list []string) {
	rest := c.args[1:]
	for i := 0; i < len(rest); i++ {
		name, _, valued := strings.Cut(rest[i], "=")
		value := !valued && slices.Contains(takes, strings.TrimLeft(name, "-")) && i+1 < len(rest)
		off := slices.Contains(c.of.off, strings.TrimLeft(name, "-")) || slices.ContainsFunc(c.of.flags, func(flag string) bool {
			own, _, _ := strings.Cut(flag, "=")
			return own == name
		})
		if strings.HasPrefix(name, "-") && name != "--" && !off {
			list = append(list, rest[i])
			if value {
				list = append(list, rest[i+1])
			}
		}
		if value {
			i++
		}
	}
	return list
}

// maxOnly bounds the tests that a run is narrowed to by their names.
const maxOnly = 30

// command runs tests of files of the tree. As a script of the package it finds the programs that the packages above depend on:
// they may lie in directories that commands alone see.
func (c *call) command(p mutant.Place, tests []mutant.Test) (args []string) {
	var bins []string
	for dir := c.dir; ; dir = path.Dir(dir) {
		if bins = append(bins, filepath.Join(p.SeenDir, dir, "node_modules/.bin")); dir == "." {
			break
		}
	}
	args = []string{"sh", "-c", `export PATH="$0:$PATH" && exec env "$@"`, strings.Join(bins, string(os.PathListSeparator))}
	if c.dir != "." {
		args = append(args, "--chdir="+filepath.Join(p.SeenDir, c.dir))
	}
	args = append(slices.Concat(args, []string{"CI=1"}, c.env), c.of.name)
	args = append(args, c.options()...)
	for _, flag := range c.of.flags {
		args = append(args, strings.ReplaceAll(flag, "REPORT", filepath.Join(p.SeenTemp, reportFile)))
	}
	var files, names []string
	for _, t := range tests {
		file, err := filepath.Rel(c.dir, t.File)
		if err != nil || strings.HasPrefix(file, "..") {
			continue // of another package
		}
		files, names = append(files, file), append(names, namePattern(t.Name))
		if t.Name == "" {
			names = append(names, ".*")
		}
	}
	slices.Sort(files)
	if c.of.only != "" && len(names) <= maxOnly && !slices.Contains(names, ".*") {
		if c.of.name == "node" { // it knows a test by the last part of its name
			for i := range names {
				names[i] = namePattern(tests[i].Name[strings.LastIndex(between+tests[i].Name, between):])
			}
		}
		args = append(args, c.of.only+"="+strings.Join(names, "|"))
	}
	return append(args, slices.Compact(files)...)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
