package environment

import (
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// installer is a command of a package manager that reads nothing of a repository but its manifests and lock files.
type installer struct {
	// argv are the first words of the command.
	argv []string
	// files are the base names of what it reads, anywhere in the tree; below are directories that it reads whole.
	files, below []string
	// locks are those of the files that name the versions of all that it installs; none where it installs what manifests name.
	locks []string
	// scripts reports that the manifests can name scripts which are run by an installation.
	scripts bool
}

func (i installer) as(argv ...string) installer {
	i.argv = argv
	return i
}

var (
	npm = installer{
		files: []string{"package.json", "package-lock.json", "npm-shrinkwrap.json", ".npmrc"}, scripts: true,
		locks: []string{"package-lock.json", "npm-shrinkwrap.json"},
	}
	pnpm = installer{
		files: []string{"package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc", ".pnpmfile.cjs"},
		below: []string{"patches"}, locks: []string{"pnpm-lock.yaml"}, scripts: true,
	}
	yarn = installer{
		files: []string{"package.json", "yarn.lock", ".yarnrc.yml", ".yarnrc", ".npmrc"}, below: []string{".yarn"},
		locks: []string{"yarn.lock"}, scripts: true,
	}
	bun = installer{
		files: []string{"package.json", "bun.lock", "bun.lockb", "bunfig.toml", ".npmrc"}, below: []string{"patches"},
		locks: []string{"bun.lock", "bun.lockb"}, scripts: true,
	}
	poetry = installer{
		files: []string{"pyproject.toml", "poetry.lock", "poetry.toml", "setup.py", "setup.cfg"}, locks: []string{"poetry.lock"},
	}
	installers = []installer{
		{argv: []string{"npm", "install", "--global"}, files: []string{".npmrc"}},
		npm.as("npm", "ci"), npm.as("npm", "install"), pnpm.as("pnpm", "install"), yarn.as("yarn", "install"),
		bun.as("bun", "install"),
		{argv: []string{"go", "mod", "download"}, files: []string{"go.mod", "go.sum", "go.work", "go.work.sum"}},
		{
			argv:  []string{"cargo", "fetch"},
			files: []string{"Cargo.toml", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml"}, below: []string{".cargo"},
			locks: []string{"Cargo.lock"},
		},
		{
			argv: []string{"uv", "sync"}, locks: []string{"uv.lock"},
			files: []string{
				"pyproject.toml", "uv.lock", "uv.toml", ".python-version", "setup.py", "setup.cfg", "requirements.txt",
			},
		},
		poetry.as("poetry", "install"), poetry.as("poetry", "sync"),
		{
			argv:  []string{"bundle", "install"},
			files: []string{"Gemfile", "Gemfile.lock", "gems.rb", "gems.locked", ".ruby-version"},
			below: []string{".bundle"}, locks: []string{"Gemfile.lock", "gems.locked"},
		},
		{argv: []string{"python3", "-m", "venv"}},
		{argv: []string{"python", "-m", "venv"}},
	}
)

// Tree is the commit that a setup runs on.
type Tree struct {
	// ID is that of the whole tree, Outline what is seen of it without opening a file, Blobs are the ids of its regular files by
	// their paths.
	ID, Outline string
	Blobs       map[string]string
	// Read returns the content of a file.
	Read func(path string) ([]byte, error)
}

// FilesOf returns the ids of the files that a setup depends on: those that its key names, the manifests and lock files where it
// is the installation of known package managers that run no script of the tree, and copy and build nothing of it, and else
// the whole tree.
func FilesOf(setup *spec.Setup, tree *Tree) (map[string]string, error) {
	files := map[string]string{}
	if len(setup.Key) > 0 {
		for _, name := range setup.Key {
			files[name] = tree.Blobs[name]
		}
		return files, nil
	}
	commands, plain := commandsOf(setup.Command)
	for _, command := range commands {
		if !plain || !tree.reads(command, files) {
			plain = false
			break
		}
		known := installerOf(command)
		scripts := known != nil && known.scripts && !slices.Contains(command, "--ignore-scripts")
		for name := range files {
			if own, err := tree.fromTree(name, scripts); err != nil {
				return nil, err
			} else if own {
				plain = false
			}
		}
	}
	if !plain || len(commands) == 0 {
		return map[string]string{WholeTree: tree.ID}, nil
	}
	return files, nil
}

// reads adds what one command of a setup depends on; false where that is not known.
func (t *Tree) reads(command []string, files map[string]string) bool {
	others, own := withoutOwn(command)
	if requirements, ok := pipReads(others, t.Read); ok {
		if own {
			requirements = append(requirements, sourcesOfPip...)
		}
		for _, name := range requirements {
			if id, there := t.Blobs[name]; there {
				files[name] = id
			}
		}
		return true
	}
	known := installerOf(command)
	if known == nil || slices.Contains(command, "--no-editable") || known.namesFile(command[len(known.argv):]) {
		return false
	}
	for name, id := range t.Blobs {
		if known.reads(name) {
			files[name] = id
		}
	}
	return true
}

// Unlocked returns the lock files that a setup would read and the tree lacks, so that it takes the versions that it finds.
func Unlocked(setup *spec.Setup, tree *Tree) []string {
	commands, _ := commandsOf(setup.Command)
	for _, command := range commands {
		known := installerOf(command)
		if known == nil || len(known.locks) == 0 {
			continue
		}
		locked := func(name string) bool { return slices.Contains(known.locks, path.Base(name)) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(tree.Blobs)), locked) {
			return known.locks
		}
	}
	return nil
}

// sourcesOfPip tell pip what to install of the tree itself.
var sourcesOfPip = []string{"pyproject.toml", "setup.py", "setup.cfg"}

// InstallsItself reports whether later commands find what a setup would install, or report what is missing, without it: go does.
func InstallsItself(setup *spec.Setup) bool {
	return len(setup.Command) > 0 && setup.Command[0] == "go" && installerOf(setup.Command) != nil
}

// installerOf returns nil where the command is not known.
func installerOf(command []string) *installer {
	if len(command) > 2 && command[0] == "go" && command[1] == "-C" {
		command = slices.Delete(slices.Clone(command), 1, 3)
	}
	for i := range installers {
		if known := &installers[i]; len(command) >= len(known.argv) && slices.Equal(command[:len(known.argv)], known.argv) {
			return known
		}
	}
	return nil
}

// filing are flags that name a file.
var filing = strings.Fields("config config-file gemfile globalconfig modfile overlay script use-yarnrc userconfig")

// namesFile reports whether words of a command name what it reads beside the files that are known: a package of the tree, a
// script, or another manifest.
func (i *installer) namesFile(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		name, _, _ := strings.Cut(word, "=")
		source := word == "." || !strings.HasPrefix(word, "-") && nodeSource.MatchString(word)
		return source && len(i.files) > 0 || slices.Contains(filing, strings.TrimLeft(name, "-"))
	})
}

func (i *installer) reads(name string) bool {
	return slices.Contains(i.files, path.Base(name)) ||
		slices.ContainsFunc(i.below, func(dir string) bool {
			return strings.HasPrefix(name, dir+"/") || strings.Contains(name, "/"+dir+"/")
		})
}

// pipReads returns the files of requirements that a pip install reads, where it installs nothing of the tree itself.
func pipReads(command []string, read func(string) ([]byte, error)) (files []string, ok bool) {
	files, ok = pipFiles(command)
	for _, name := range files {
		data, err := read(name)
		if err != nil {
			return nil, false
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			other := strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "--hash")
			own := strings.HasPrefix(line, ".") || strings.Contains(line, "/") && !strings.HasPrefix(line, "#")
			if other || own {
				return nil, false // another file, or a package of the tree
			}
		}
	}
	return files, ok
}

// pips are how pip is called, also that of a virtual environment which the setup has made.
var pips = lazyregexp.New(`^(?:\.venv/bin/|venv/bin/)?(?:pip3?|python3? -m pip) install(?: |$)`)

// withoutOwn leaves the package at the top of the tree, as a link to its sources, out of a command of pip.
func withoutOwn(command []string) (others []string, own bool) {
	i := slices.Index(command, "-e")
	if i < 0 || i+1 >= len(command) || command[i+1] != "." && !strings.HasPrefix(command[i+1], ".[") {
		return command, false
	}
	return slices.Delete(slices.Clone(command), i, i+2), true
}

// filed are flags of pip that name files, or packages, of the tree.
var filed = lazyregexp.New(`^--(?:editable|requirement|constraint|build-constraint|find-links)\b`)

// fromIndex matches a package that pip takes from an index, not from a file.
var fromIndex = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]*(?:\[[\w,.-]+\])?(?:[<>=!~][\w.,<>=!~*]*)?$`)

// pipFiles returns the files of requirements that a pip install names, where it names nothing else of the tree.
func pipFiles(command []string) (files []string, ok bool) {
	i := slices.Index(command, "install")
	if i < 0 || !pips.MatchString(strings.Join(command[:i+1], " ")) {
		return nil, false
	}
	for rest := command[i+1:]; len(rest) > 0; rest = rest[1:] {
		switch word := rest[0]; {
		case (word == "-r" || word == "-c" || word == "--requirement" || word == "--constraint") && len(rest) > 1:
			rest = rest[1:]
			files = append(files, path.Clean(rest[0]))
		case !strings.HasPrefix(word, "--") && !fromIndex.MatchString(word) || filed.MatchString(word):
			return nil, false
		}
	}
	return files, true
}
