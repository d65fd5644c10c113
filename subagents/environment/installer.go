package environment

import (
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// installer is a command of a package manager that reads nothing of a repository but its manifests and lock files.
type installer struct {
	// argv are the first words of the command.
	argv []string
	// files are the base names of what it reads, anywhere in the tree; below are directories that it reads whole.
	files, below []string
	// scripts reports that the manifests can name scripts which are run by an installation.
	scripts bool
}

var (
	npmFiles   = []string{"package.json", "package-lock.json", "npm-shrinkwrap.json", ".npmrc"}
	installers = []installer{
		{argv: []string{"npm", "ci"}, files: npmFiles, scripts: true},
		{argv: []string{"npm", "install"}, files: npmFiles, scripts: true},
		{
			argv:  []string{"pnpm", "install"},
			files: []string{"package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc", ".pnpmfile.cjs"},
			below: []string{"patches"}, scripts: true,
		},
		{
			argv: []string{"yarn", "install"}, files: []string{"package.json", "yarn.lock", ".yarnrc.yml", ".yarnrc", ".npmrc"},
			below: []string{".yarn"}, scripts: true,
		},
		{argv: []string{"go", "mod", "download"}, files: []string{"go.mod", "go.sum", "go.work", "go.work.sum"}},
		{argv: []string{"cargo", "fetch"}, files: []string{
			"Cargo.toml", "Cargo.lock", "config.toml", "rust-toolchain", "rust-toolchain.toml",
		}},
		{argv: []string{"uv", "sync"}, files: []string{
			"pyproject.toml", "uv.lock", "uv.toml", ".python-version", "setup.py", "setup.cfg", "requirements.txt",
		}},
		{
			argv: []string{"bundle", "install"}, files: []string{"Gemfile", "Gemfile.lock", ".ruby-version"},
			below: []string{".bundle"},
		},
	}
)

// Tree is the commit that a setup runs on.
type Tree struct {
	// ID is that of the whole tree, Blobs are those of its regular files by their paths.
	ID    string
	Blobs map[string]string
	// Read returns the content of a file.
	Read func(path string) ([]byte, error)
}

// FilesOf returns the ids of the files that a setup depends on: those that its key names, the manifests and lock files where it
// is the installation of a known package manager that runs no script of the tree, and copies and builds nothing of it, and else
// the whole tree.
func FilesOf(setup *spec.Setup, tree *Tree) (map[string]string, error) {
	files := map[string]string{}
	if len(setup.Key) > 0 {
		for _, name := range setup.Key {
			files[name] = tree.Blobs[name]
		}
		return files, nil
	}
	whole := map[string]string{WholeTree: tree.ID}
	if requirements, ok := pipReads(setup.Command, tree.Read); ok {
		for _, name := range requirements {
			files[name] = tree.Blobs[name]
		}
		return files, nil
	}
	known := installerOf(setup.Command)
	if known == nil {
		return whole, nil
	}
	maps.Copy(files, tree.Blobs)
	maps.DeleteFunc(files, func(name, _ string) bool { return !known.reads(name) })
	if slices.Contains(setup.Command, "--no-editable") {
		return whole, nil
	}
	scripts := known.scripts && !slices.Contains(setup.Command, "--ignore-scripts")
	for name := range files {
		if own, err := tree.fromTree(name, scripts); err != nil {
			return nil, err
		} else if own {
			return whole, nil
		}
	}
	return files, nil
}

// Reads returns what reports whether a file decides what a setup installs: those that its key names, or the manifests and lock
// files of a known package manager. It is nil for any other command: of that it is not known.
func Reads(setup *spec.Setup) func(name string) bool {
	if len(setup.Key) > 0 {
		return func(name string) bool { return slices.Contains(setup.Key, name) }
	}
	if files, ok := pipFiles(setup.Command); ok {
		return func(name string) bool { return slices.Contains(files, name) }
	}
	if known := installerOf(setup.Command); known != nil {
		return known.reads
	}
	return shellReads(setup.Command)
}

// pipInShell matches the sources of pip where a shell calls it.
var pipInShell = installer{argv: []string{"pip", "install"}, files: []string{"pyproject.toml", "setup.py", "setup.cfg"}}

// shellReads is Reads for a line of a shell that calls known package managers.
func shellReads(command []string) func(name string) bool {
	if len(command) != 3 || command[1] != "-c" || !slices.Contains([]string{"sh", "bash"}, path.Base(command[0])) {
		return nil
	}
	var called []installer
	for _, i := range append([]installer{pipInShell}, installers...) {
		if strings.Contains(command[2], strings.Join(i.argv, " ")) {
			called = append(called, i)
		}
	}
	if len(called) == 0 {
		return nil
	}
	return func(name string) bool {
		word := strings.HasSuffix(name, ".txt") && strings.Contains(command[2], name) // a file of requirements
		return word || slices.ContainsFunc(called, func(i installer) bool { return i.reads(name) })
	}
}

// InstallsItself reports whether later commands find what a setup would install, or report what is missing, without it: go does.
func InstallsItself(setup *spec.Setup) bool {
	return len(setup.Command) > 0 && setup.Command[0] == "go" && installerOf(setup.Command) != nil
}

// installerOf returns nil where the command is not known.
func installerOf(command []string) *installer {
	for i := range installers {
		if known := &installers[i]; len(command) >= len(known.argv) && slices.Equal(command[:len(known.argv)], known.argv) {
			return known
		}
	}
	return nil
}

func (i *installer) reads(name string) bool {
	return slices.Contains(i.files, path.Base(name)) || slices.ContainsFunc(i.below, func(dir string) bool {
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

// pipFiles returns the files of requirements that a pip install names, where it names nothing else.
func pipFiles(command []string) (files []string, ok bool) {
	i := slices.Index(command, "install")
	if i < 0 || !slices.Contains([]string{"pip", "pip3", "python -m pip", "python3 -m pip"}, strings.Join(command[:i], " ")) {
		return nil, false
	}
	for rest := command[i+1:]; len(rest) > 0; rest = rest[1:] {
		switch word := rest[0]; {
		case (word == "-r" || word == "-c" || word == "--requirement" || word == "--constraint") && len(rest) > 1:
			rest = rest[1:]
			files = append(files, path.Clean(rest[0]))
		case !strings.HasPrefix(word, "--") || strings.HasPrefix(word, "--editable"):
			return nil, false
		}
	}
	return files, len(files) > 0
}
