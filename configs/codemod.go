package configs

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"divisi/internal/spec"
)

//go:embed codemods
var codemods embed.FS

// The languages in which a codemod can be written.
const (
	CodemodGo          = "go"
	CodemodAstGrep     = "ast-grep"
	CodemodJscodeshift = "jscodeshift"
)

// CodemodLangs lists them, the default first.
var CodemodLangs = []string{CodemodGo, CodemodAstGrep, CodemodJscodeshift}

// Codemod holds the values for the files of a new codemod.
type Codemod struct {
	// Name is that of the codemod and of its role.
	Name string
	// Lang is one of CodemodLangs.
	Lang string
	// Dir is the folder of program, plan and try.sh, with slashes, from the top of the repository.
	Dir string
	// Program is the path or name of ast-grep or jscodeshift; go needs none.
	Program string
	// Language is ast-grep's name of the language that the rule is for, and Glob finds its files.
	Language, Glob string
	// Types reports whether the grammar of the language has names of types apart from other names.
	Types bool
}

// StarterFile is a file to begin with, its path from the top of the repository.
type StarterFile struct{ Path, Text string }

// Files are the codemod's program first, its plan, its script that tries it, and its role. The error is a *FileError for a name
// that no role can have.
func (c *Codemod) Files() ([]StarterFile, error) {
	if spec.BuiltInRole(c.Name) {
		return nil, &FileError{File: c.Name + ".md", Faults: []Fault{{Message: fmt.Sprintf(
			"%q is a built-in role: choose another name", c.Name)}}}
	}
	if c.Name == "null" {
		return nil, &FileError{File: c.Name + ".md", Faults: []Fault{{Message: `"null" is nothing in YAML: choose another name`}}}
	}
	files := []StarterFile{
		{Path: path.Join(c.Dir, c.program()), Text: c.program()},
		{Path: path.Join(c.Dir, "plan.yaml"), Text: "plan.yaml"},
		{Path: path.Join(c.Dir, "try.sh"), Text: "try.sh"},
		{Path: path.Join(RolesDir, c.Name+".md"), Text: "role.md"},
	}
	for i := range files {
		var err error
		if files[i].Text, err = c.fill(files[i].Text); err != nil {
			return nil, err
		}
	}
	role := files[len(files)-1]
	if _, err := ParseRole(c.Name+".md", role.Text); err != nil {
		return nil, err
	}
	return files, nil
}

// program is the name of the file that a person edits.
func (c *Codemod) program() string {
	return map[string]string{CodemodGo: "main.go", CodemodAstGrep: "rule.yml", CodemodJscodeshift: "transform.cjs"}[c.Lang]
}

// command is the command line before the files.
func (c *Codemod) command() []string {
	file := path.Join(c.Dir, c.program())
	switch c.Lang {
	case CodemodAstGrep:
		return []string{c.Program, "scan", "--rule", file, "--update-all"}
	case CodemodJscodeshift:
		return []string{c.Program, "--parser=tsx", "--run-in-band", "--fail-on-error", "--transform", file}
	}
	return []string{"go", "run", file, "--"}
}

// fill returns the text of a template. With text/template the linker would keep every exported method of the program.
func (c *Codemod) fill(name string) (string, error) {
	text, err := codemods.ReadFile("codemods/" + name + ".tmpl")
	if err != nil {
		return "", fmt.Errorf("read the built-in %s: %w", name, err)
	}
	by, match, rule := "file", `\boldName\b`, "kind: identifier, regex: ^oldName$"
	if c.Lang == CodemodGo {
		by, match = "package", `\bioutil\.ReadFile\b`
	}
	if c.Types {
		rule = "any: [{kind: identifier}, {kind: type_identifier}], regex: ^oldName$"
	}
	return strings.NewReplacer(
		"{{.Name}}", c.Name, "{{.Dir}}", c.Dir, "{{.Goal}}", "Run the codemod "+c.Name, "{{.By}}", by, "{{.Glob}}", c.Glob,
		"{{.Match}}", match, "{{.Language}}", c.Language, "{{.Rule}}", rule,
		"{{.Command}}", strings.Join(c.command(), ", "), "{{.Try}}", strings.Join(c.command(), " "),
	).Replace(string(text)), nil
}
