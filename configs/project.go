package configs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"divisi/internal/spec"
)

// projectFile is a repository's own configuration.
const projectFile = ".divisi/divisi.yaml"

// Project returns <repo>/.divisi/divisi.yaml with every default filled in; a repository without one has the defaults.
// The error is a *FileError with every fault when the file is wrong.
func Project(repo string) (spec.Project, error) {
	file, err := ProjectFile(repo)
	switch {
	case err != nil:
		return spec.Project{}, err
	case file == nil:
		return DefaultProject()
	}
	return ParseProject(file.Name, file.Text)
}

// ProjectFile reads <repo>/.divisi/divisi.yaml; nil where there is none.
func ProjectFile(repo string) (file *File, err error) {
	root, err := os.OpenRoot(repo)
	if err != nil {
		return nil, fmt.Errorf("open the repository %s: %w", repo, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	text, err := readInside(root, projectFile, maxProject)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cannotRead(projectFile, err)
	}
	return &File{projectFile, text}, nil
}

// DefaultProject returns the project of a repository that configures nothing.
func DefaultProject() (spec.Project, error) { return ParseProject(projectFile, "") }

// ParseProject reads a project file and fills in the defaults. The file is only named, for messages.
func ParseProject(file, text string) (spec.Project, error) {
	p, _, err := parseProject(File{file, text}, spec.Project{})
	return p, err
}

// parseProject reads a project file over what is preset, which it may change, and returns the lines of the fields that it sets.
func parseProject(file File, p spec.Project) (spec.Project, map[string]int, error) {
	defaults, err := embeddedProject()
	if err != nil {
		return spec.Project{}, nil, err
	}
	d := newDocument(file.Name, file.Text)
	p.Delegation = p.Delegation.WithDefaults() // so that a zero is one that was written
	d.read(file.Text, projectSchema(), &p)
	p.Limits = p.Limits.Or(defaults.Limits)
	if p.Protected == nil { // an empty list protects nothing, on purpose
		p.Protected = spec.Guarded()
	}
	p.Parallel = cmp.Or(p.Parallel, defaults.Parallel)
	models := maps.Clone(defaults.Models)
	maps.Copy(models, p.Models)
	p.Models = models
	if _, all := p.ToolOutput[spec.AnyTool]; !all {
		outputs := maps.Clone(defaults.ToolOutput)
		maps.Copy(outputs, p.ToolOutput)
		p.ToolOutput = outputs
	}
	for alias, model := range p.Models {
		model.Provider = cmp.Or(model.Provider, "gemini")
		p.Models[alias] = model
	}
	d.problems(append(p.Validate(), p.Delegation.Validate()...))
	return p, d.keys, d.err()
}

func embeddedProject() (spec.Project, error) {
	var p spec.Project
	text, err := embedded.ReadFile("divisi.yaml")
	if err != nil {
		return p, fmt.Errorf("read the built-in defaults: %w", err)
	}
	d := newDocument("divisi.yaml", string(text))
	d.read(string(text), projectSchema(), &p)
	d.problems(p.Validate())
	return p, d.err()
}
