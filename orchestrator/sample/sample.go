// Package sample makes the repository that `divisi demo` works on: 12 Go packages, five with tests, a git history, a deprecated
// helper package, and one test that has failed from the start. Its input is an empty directory, its output the repository and
// the plan that moves it off the helper and renames a function with its callers. It never touches another directory and needs no
// network.
package sample

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"divisi/internal/git"
)

//go:embed tree
var tree embed.FS

// Wrong is the package whose codemod is wrong on purpose at its first attempt.
const Wrong = "invoices"

// thing is one generated package.
type thing struct {
	Name, Things, Type, Sep string
	Tested                  bool
}

// fill puts the data of a package into a text. With text/template the linker would keep every exported method of the program.
func (t thing) fill(text string) string {
	return strings.NewReplacer(
		"{{.Name}}", t.Name, "{{.Things}}", t.Things, "{{.Type}}", t.Type, "{{.Sep}}", t.Sep, "{{.Wrong}}", Wrong,
	).Replace(text)
}

// things are the packages that use the deprecated helper; with strutil, text, rates and the codemod they make 12.
var things = []thing{
	{Name: "berths", Things: "berths", Type: "Berth", Sep: " - ", Tested: true},
	{Name: "cargo", Things: "pieces of cargo", Type: "Piece", Sep: " | "},
	{Name: "ferries", Things: "ferries", Type: "Ferry", Sep: " ~ "},
	{Name: "invoices", Things: "invoices", Type: "Invoice", Sep: " | ", Tested: true},
	{Name: "moorings", Things: "moorings", Type: "Mooring", Sep: " - "},
	{Name: "ships", Things: "ships", Type: "Ship", Sep: " | ", Tested: true},
	{Name: "tugs", Things: "tugs", Type: "Tug", Sep: " / "},
	{Name: "yards", Things: "yards", Type: "Yard", Sep: " - "},
}

// PlanFile returns the built-in plan's text.
func PlanFile() ([]byte, error) { return tree.ReadFile("tree/plan.yaml") }

// steps are the commits of the history, each with the files that it adds.
func steps() []step {
	base := step{message: "Begin the back office", files: map[string]string{
		"go.mod": "base/go.mod", "README.md": "base/README.md", ".gitignore": "base/gitignore",
		"internal/strutil/strutil.go": "base/strutil.go",
		"internal/rates/rates.go":     "base/rates.go", "internal/rates/rates_test.go": "base/rates_test.go",
	}}
	half := len(things) / 2
	return []step{
		base,
		packages("Add the water side", things[:half]),
		packages("Add the land side", things[half:]),
		prices(),
		{message: "Add internal/text and deprecate internal/strutil", files: map[string]string{
			"internal/text/text.go": "base/text.go", "internal/text/text_test.go": "base/text_test.go",
		}},
		{message: "Add the codemod, and tell Divisi how to work here", files: map[string]string{
			"tools/codemod/main.go": "codemod/main.go", ".divisi/divisi.yaml": "base/divisi.yaml",
			".divisi/roles/codemod.md": "base/codemod.md", ".divisi/roles/rename.md": "base/rename.md",
		}},
	}
}

type step struct {
	message string
	// files maps a path of the repository to its template; things holds the data of generated ones.
	files  map[string]string
	things map[string]thing
}

func packages(message string, list []thing) step {
	s := step{message: message, files: map[string]string{}, things: map[string]thing{}}
	for _, t := range list {
		add := func(file, tmpl string) {
			path := filepath.Join(t.Name, file)
			s.files[path], s.things[path] = tmpl, t
		}
		add(t.Name+".go", "pkg/code.go")
		if t.Tested {
			add(t.Name+"_test.go", "pkg/code_test.go")
		}
	}
	return s
}

// prices adds the callers of rates.Round, and packages that import invoices: what breaks there breaks them too.
func prices() step {
	s := step{message: "Price invoices, ships and tugs, and invoice dues", files: map[string]string{}, things: map[string]thing{}}
	for _, t := range things {
		add := func(file string) {
			path := filepath.Join(t.Name, file+".go")
			s.files[path], s.things[path] = "pkg/"+file+".go", t
		}
		switch t.Name {
		case Wrong:
			add("price")
		case "ships", "tugs":
			add("price")
			add("dues")
		case "berths", "yards":
			add("dues")
		}
	}
	return s
}

// Make writes the repository with its history into dir, which must be empty or missing.
func Make(ctx context.Context, g *git.Git, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the sample repository: %w", err)
	}
	r := repository{g, git.Dir{GitDir: filepath.Join(dir, ".git"), WorkTree: dir}}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "Harbour"}, {"config", "user.email", "harbour@example.com"},
	} {
		if err := r.run(ctx, args...); err != nil {
			return err
		}
	}
	for _, s := range steps() {
		for path, tmpl := range s.files {
			if err := write(filepath.Join(dir, path), tmpl, s.things[path]); err != nil {
				return err
			}
		}
		if err := r.run(ctx, "add", "-A"); err != nil {
			return err
		}
		if err := r.run(ctx, "commit", "-q", "-m", s.message); err != nil {
			return err
		}
	}
	return nil
}

// repository is the sample's own git repository.
type repository struct {
	git *git.Git
	dir git.Dir
}

func (r repository) run(ctx context.Context, args ...string) error {
	if _, err := r.git.Run(ctx, r.dir, nil, args...); err != nil {
		return fmt.Errorf("make the sample repository: %w", err)
	}
	return nil
}

func write(path, name string, data thing) error {
	text, err := tree.ReadFile("tree/" + name + ".tmpl")
	if err != nil {
		return fmt.Errorf("read the sample's %s: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the sample repository: %w", err)
	}
	if err := os.WriteFile(path, []byte(data.fill(string(text))), 0o644); err != nil {
		return fmt.Errorf("write the sample's %s: %w", path, err)
	}
	return nil
}
