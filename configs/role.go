package configs

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"divisi/internal/spec"
)

// BuiltIn is the source of the roles that Divisi brings.
const BuiltIn = "built-in"

// RolesDir is where a repository keeps its own roles.
const RolesDir = ".divisi/roles"

//go:embed roles/*.md agents/*.md starter.md divisi.yaml
var embedded embed.FS

// roleFile is the front matter of a role file, whose executor is one name or a chain.
type roleFile struct {
	spec.Role

	Executor oneOrMore `json:"executor,omitempty" enum:"model,command" jsonschema:"What runs the role. In a list the next one takes over when the gates reject the work of the one before."`
}

// BuiltInRoles returns the roles that Divisi brings, by name.
func BuiltInRoles() (map[string]spec.Role, error) {
	roles := map[string]spec.Role{}
	names, err := fs.Glob(embedded, "roles/*.md")
	if err != nil {
		return nil, fmt.Errorf("list the built-in roles: %w", err)
	}
	for _, name := range names {
		text, err := embedded.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the built-in role %s: %w", name, err)
		}
		role, err := ParseRole(name, string(text))
		if err != nil {
			return nil, err
		}
		role.Source = BuiltIn
		roles[role.Name] = role
	}
	return roles, nil
}

// ParseRole reads a role file: Markdown with YAML front matter, whose body is the instruction. The file is only named,
// for messages and as the name of a role that gives none. The error is a *FileError with every fault.
func ParseRole(file, text string) (spec.Role, error) {
	role, _, err := parseRole(file, text)
	return role, err
}

func parseRole(file, text string) (spec.Role, *document, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	d := newDocument(file, text)
	front, body, ok := frontMatter(d.lines)
	if !ok {
		d.faultf(place{1, 1}, "", "a role file begins with a line --- , then fields such as tools, then a line ---")
		return spec.Role{}, d, d.err()
	}
	var read roleFile
	d.read(front, roleSchema(), &read)
	// Where the front matter has faults, one name in it counts, and the file's name does not: the fault may have hidden a name.
	named := len(d.faults) == 0 || read.Name != "" && strings.Count(front, "\nname:") == 1
	role := read.Role
	if len(read.Executor) > 0 {
		role.Executor, role.Chain = read.Executor[0], read.Executor[1:]
	}
	role.Instruction = strings.TrimSpace(body)
	d.at["instruction"] = d.bodyPlace(body)
	role.Source = file
	role.Name = cmp.Or(role.Name, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	d.deriveRole(&role)
	problems := role.Validate(spec.Env{})
	d.problems(problems)
	d.schema("output", role.Output)
	if !named || slices.ContainsFunc(problems, func(p spec.Problem) bool { return p.Path == "name" }) {
		role.Name = ""
	}
	return role, d, d.err()
}

// frontMatter takes a role file apart. The line --- at the top becomes an empty one, so that places stay right.
func frontMatter(lines []string) (front, body string, ok bool) {
	if strings.TrimRight(lines[0], " \t\r") != "---" {
		return "", "", false
	}
	for i := 1; i < len(lines); i++ {
		if strings.TrimRight(lines[i], " \t\r") == "---" {
			return "\n" + strings.Join(lines[1:i], "\n") + "\n", strings.Join(lines[i+1:], "\n"), true
		}
	}
	return "", "", false
}

// bodyPlace is where the instruction begins: what stands before its first character is cut off.
func (d *document) bodyPlace(body string) place {
	before := body[:len(body)-len(strings.TrimLeftFunc(body, unicode.IsSpace))]
	line := len(d.lines) - strings.Count(body, "\n") + strings.Count(before, "\n")
	return place{line, 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])}
}

// deriveRole fills what a role file leaves out.
func (d *document) deriveRole(r *spec.Role) {
	if at, given := d.at["command"]; given && len(r.Command) == 0 && !d.bad["command"] {
		d.faultf(at, "", "command is empty: write a program and its arguments, or leave command out")
	}
	if r.Executor == "" {
		switch {
		case len(r.Command) > 0:
			r.Executor = spec.ExecutorCommand
		case r.Name != spec.RoleTester || r.Model != "":
			r.Executor = spec.ExecutorModel
		}
	}
	if _, given := d.at["tools"]; !given && r.Runs(spec.ExecutorModel) {
		r.Tools = []string{spec.ToolListFiles, spec.ToolReadFile, spec.ToolSearch, spec.ToolLoadArtifact}
		if r.Name == spec.RoleMaster {
			r.Tools = append(r.Tools, spec.ToolDispatch)
		}
	}
	commands := r.Runs(spec.ExecutorCommand)
	if commands && r.Name == spec.RoleMaster {
		r.Tools = []string{spec.ToolDispatch, spec.ToolAsk} // its program has tools of its own for the rest
	}
	derived := commands && r.Name != spec.RoleTester && r.Name != spec.RoleMaster ||
		slices.ContainsFunc(r.Tools, spec.WritingTool)
	at, given := d.at["writes"]
	switch {
	case !given:
		r.Writes = derived
	case !commands && r.Writes != derived && !d.bad["tools"] && !d.bad["writes"]:
		d.faultf(at, "", "writes is %t, but the tools of role %q say %t", r.Writes, r.Name, derived)
	}
	r.IncludeContents, r.Narrative = cmp.Or(r.IncludeContents, spec.IncludeNone), cmp.Or(r.Narrative, "fenced")
}

// problems maps what Validate found back to its places, leaving out what follows from a value that could not be read.
func (d *document) problems(list []spec.Problem) {
	for _, p := range list {
		if d.unread(p.Path) {
			continue
		}
		d.faultf(d.where(p.Path), p.Suggest, "%s", p.Message)
	}
}

// schema faults a text that is not a JSON Schema of its own.
func (d *document) schema(path string, text json.RawMessage) {
	if len(text) == 0 || d.unread(path) {
		return
	}
	if _, err := spec.CompileSchema("role:output", text); err != nil {
		d.faultf(d.where(path), "", "%s is not a JSON Schema: %s", path, strings.ReplaceAll(err.Error(), "\n", " "))
	}
}

// Starter returns the text of a role file to begin with: the built-in role's own for its name, else a commented one. The error
// is a *FileError for a name that no role can have.
func Starter(name string) (string, error) {
	file := "starter.md"
	if spec.BuiltInRole(name) {
		file = "roles/" + name + ".md"
	}
	return starter(file, name)
}

// starter is an embedded role file with a name, and with further words in the place of others.
func starter(file, name string, more ...string) (string, error) {
	text, err := embedded.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the built-in %s: %w", file, err)
	}
	starter := strings.NewReplacer(append(more, "name: NAME", "name: "+name)...).Replace(string(text))
	if _, err := ParseRole(name+".md", starter); err != nil {
		return "", err
	}
	return starter, nil
}
