package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// repository makes a directory of files (path -> content).
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o750))
		require.NoError(t, os.WriteFile(full, []byte(content), 0o600))
	}
	return dir
}

func TestBuiltInRoles(t *testing.T) {
	t.Parallel()
	roles, err := BuiltInRoles()
	require.NoError(t, err)
	require.Len(t, roles, 6)
	for name, role := range roles {
		require.Equal(t, name, role.Name)
		require.Equal(t, BuiltIn, role.Source)
		require.NotEmpty(t, role.Description, name)
		require.Less(t, len(role.Instruction), 4000, name)
		require.Positive(t, role.Limits.Time, name)
	}
	require.Equal(t, spec.ExecutorModel, roles[spec.RoleMaster].Executor)
	require.Contains(t, roles[spec.RoleMaster].Tools, spec.ToolDispatch)
	require.Empty(t, roles[spec.RoleTester].Executor, "a tester without a model is its gates alone")
	require.Empty(t, roles[spec.RoleTester].Tools)
	require.Empty(t, roles[spec.RoleTester].Instruction, "it is no judge")
	require.Equal(t, spec.ModelCheap, roles[spec.RoleReviewer].Model)
	for name, writes := range map[string]bool{
		spec.RoleMaster: false, spec.RoleReader: false, spec.RoleGenerator: true, spec.RoleTester: false, spec.RoleReviewer: false, spec.RoleTests: true,
	} {
		require.Equal(t, writes, roles[name].Writes, name)
	}
}

func TestRolesLaterWins(t *testing.T) {
	t.Parallel()
	repo := repository(t, map[string]string{
		".divisi/roles/scout.md":  "---\ntools: [search]\n---\nLook.\n",
		".divisi/roles/reader.md": "---\ndescription: ours\nlimits: {time: 90s}\n---\nRead.\n",
		".divisi/roles/notes.txt": "no role",
		".divisi/roles/.swap.md":  "no role",
	})
	own := filepath.Join(t.TempDir(), "mine.md")
	require.NoError(t, os.WriteFile(own, []byte("---\r\nname: scout\r\ncommand: [gofmt, -w, .]\r\n---\r\n"), 0o600))
	set, err := Roles(repo, nil)
	require.NoError(t, err)
	roles := set.Roles
	require.Equal(t, "ours", roles["reader"].Description)
	require.Equal(t, "1m30s", roles["reader"].Limits.Time.String())
	require.Equal(t, []string{"list_files", "read_file", "search", "load_artifact"}, roles["reader"].Tools, "the default")
	require.Equal(t, "Look.", roles["scout"].Instruction)
	require.Equal(t, ".divisi/roles/scout.md", roles["scout"].Source)

	set, err = Roles(repo, []string{own})
	require.NoError(t, err)
	scout := set.Roles["scout"]
	require.Equal(t, spec.ExecutorCommand, scout.Executor)
	require.True(t, scout.Writes)
	require.Equal(t, own, scout.Source)
	require.Equal(t, "fenced", scout.Narrative)
	require.Len(t, set.Repository, 2, "neither built-in ones nor a person's own")
	require.Equal(t, "ours", set.Repository["reader"].Description)
	require.Equal(t, ".divisi/roles/scout.md", set.Repository["scout"].Source, "what the repository requests stays the same")

	set, err = Roles("", nil)
	require.NoError(t, err)
	require.Len(t, set.Roles, 6)
}

func TestParseRole(t *testing.T) {
	t.Parallel()
	role, err := ParseRole("x/judge.md", "\ufeff---\n"+
		"output:\n  type: object\n  properties:\n    n: {type: integer}\n  default: [1, 1.5, true, null, a]\n"+
		"concurrency: 2\nmodel: strong\ninclude_contents: full\nnarrative: plain\nwrites: false\n---\n\nJudge.\n\n---\nrest\n")
	require.NoError(t, err)
	require.Equal(t, "judge", role.Name)
	require.Equal(t, "Judge.\n\n---\nrest", role.Instruction)
	require.JSONEq(t, `{"type":"object","properties":{"n":{"type":"integer"}},"default":[1,1.5,true,null,"a"]}`,
		string(role.Output))
	require.Equal(t, spec.IncludeFull, role.IncludeContents)

	tester, err := ParseRole("tester.md", "---\nmodel: strong\ntools: [read_file]\n---\nJudge.\n")
	require.NoError(t, err)
	require.Equal(t, spec.ExecutorModel, tester.Executor)
	checker, err := ParseRole("check.md", "---\ncommand: [make, lint]\nwrites: false\n---\n")
	require.NoError(t, err)
	require.False(t, checker.Writes)
}

func TestExecutorChain(t *testing.T) {
	t.Parallel()
	role, err := ParseRole("mod.md", "---\nexecutor: [command, model]\ncommand: [sed, -i, s/a/b/]\ntools: [read_file, edit_file]\n"+
		"fallback: [cheap]\nthinking: LOW\ntier: priority\nnetwork: true\nlimits: {idle: 1m, call: 2m, tool: 3m, tool_calls: 9}\n"+
		"mcp_servers: {docs: {}, own: {command: [serve, 5], tools: [find]}}\n---\nMend what the codemod left.\n")
	require.NoError(t, err)
	require.Equal(t, spec.ExecutorCommand, role.Executor)
	require.Equal(t, []string{spec.ExecutorModel}, role.Chain)
	require.True(t, role.Writes)
	require.True(t, role.Network)
	require.Equal(t, 9, role.Limits.ToolCalls)
	require.Equal(t, "3m0s", role.Limits.Tool.String())
	require.Equal(t, []string{"serve", "5"}, role.MCPServers["own"].Command)

	one, err := ParseRole("one.md", "---\nexecutor: [model]\n---\nDo.")
	require.NoError(t, err)
	require.Empty(t, one.Chain)
	require.False(t, one.Writes)

	_, err = ParseRole("bad.md", "---\nexecutor: [command, modell, command]\nthinking: LOWW\ndelegates: [master]\n"+
		"tools: [edit_file, delegate]\n---\nDo.")
	for _, want := range []string{
		`bad.md:2:21: executor "modell" is not one of model, command (did you mean "model"?)`,
		`bad.md:2:29: executor command is in the chain twice`,
		`bad.md:3:11: thinking "LOWW" is not one of MINIMAL, LOW, MEDIUM, HIGH (did you mean "LOW"?)`,
		`bad.md:4:13: role master does no tasks of agents`,
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = ParseRole("bad.md", "---\nexecutor: {a: b}\n---\nDo.")
	require.ErrorContains(t, err, "2:11: executor is neither a text nor a list")
	_, err = ParseRole("bad.md", "---\nexecutor: [command, model]\n---\nDo.")
	require.ErrorContains(t, err, `bad.md:2:1: the model in a chain fixes rejected work, and role "bad" has no tool that writes`)
}

func TestRoleFaultsAllAtOnce(t *testing.T) {
	t.Parallel()
	_, err := ParseRole("bad.md", `---
description: [a, list]
modell: fast
tools: [serch, read_file, read_file]
limits:
  turns: many
  time: 10
  tokens: -5
concurrency: 1.5
writes: yes please
output: {type: objekt}
narrative: plane
narrative: plain
command: go vet
---
Do.
`)
	var file *FileError
	require.ErrorAs(t, err, &file)
	type at struct {
		line, col int
		suggest   string
	}
	got := map[string]at{}
	for _, f := range file.Faults {
		got[f.Message] = at{f.Line, f.Col, f.Suggest}
		require.NotEmpty(t, f.Source)
	}
	for start, want := range map[string]at{
		"description is not a text": {2, 14, ""}, `unknown field "modell"`: {3, 1, "model"},
		`there is no tool "serch"`:         {4, 9, "search"},
		`tool "read_file" is listed twice`: {4, 27, ""}, "limits.turns is not a whole number": {6, 10, ""},
		`limits.time: "10" is not a duration such as 90s or 10m`: {7, 9, ""}, "-5 is below 0": {8, 11, ""},
		"concurrency is not a whole number": {9, 14, ""}, "writes is neither true nor false": {10, 9, ""},
		"output describes the arguments": {11, 16, "object"}, "output is not a JSON Schema": {11, 9, ""},
		`narrative "plane" is not one of`:                   {12, 12, "plain"},
		`field "narrative" is here twice, first in line 12`: {13, 1, ""},
		"command is not a list":                             {14, 10, "[go, vet]"},
	} {
		found := false
		for message, place := range got {
			if strings.HasPrefix(message, start) {
				found = true
				require.Equal(t, want, place, message)
			}
		}
		require.True(t, found, "%s in\n%s", start, err)
	}
	require.Len(t, file.Faults, 14, "%s", err)
	require.Contains(t, err.Error(), "bad.md: 14 errors\n  bad.md:2:14: description is not a text\n"+
		"    | description: [a, list]\n    |              ^\n")
	require.Contains(t, err.Error(), "\n  bad.md:3:1: unknown field \"modell\"; the fields are name, description, command,")
	require.Contains(t, err.Error(), "(did you mean \"model\"?)\n    | modell: fast\n    | ^\n")
}

func TestInstructionFaultsHaveTheirPlaceInTheFile(t *testing.T) {
	t.Parallel()
	_, err := ParseRole("bad.md", "---\nconcurrency: -1\n---\n\n  É {gaol} {goal}\n\nUse {{x}}, {artifact.y?}\nand\t{tasks}.\n\n")
	require.EqualError(t, err, strings.ReplaceAll("bad.md: 3 errors\n  bad.md:2:14: -1 is below 0\n"+
		"    | concurrency: -1\n    |              ^\n"+
		"  bad.md:5:5: there is no key {gaol} for instructions; KEYS; the text itself is written {{gaol}} (did you mean \"goal\"?)\n"+
		"    |   É {gaol} {goal}\n    |     ^\n"+
		"  bad.md:8:5: there is no key {tasks} for instructions; KEYS; the text itself is written {{tasks}} (did you mean \"task\"?)\n"+
		"    | and {tasks}.\n    |     ^",
		"KEYS", "there are goal, run, role, model, task, title, attempt, turn, turns_left, tokens_left, files, and artifact.NAME"))

	role, err := ParseRole("good.md", "---\n---\nReach {goal}: {artifact.plan.md} { \"a\": {} }")
	require.NoError(t, err)
	require.Equal(t, "Reach {goal}: {artifact.plan.md} { \"a\": {} }", role.Instruction, "it is expanded later")

	_, err = ParseRole("crlf.md", "---\r\n---\r\n\r\nDo {x_y}\r\n")
	require.ErrorContains(t, err, "crlf.md:4:4: there is no key {x_y}")
}

func TestRoleFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"Do.\n", "1:1: a role file begins with a line ---"},
		{"---\nname: x\n", "a role file begins with a line ---"},
		{"---\n- a\n---\nDo.", "the file is not a set of fields: it has the fields name, description"},
		{"---\na: [\n---\nDo.", "2:4: "},
		{"---\na: 1\n\tb: 2\n---\nDo.", "3:1: YAML is indented with spaces"},
		{"---\nname: &a x\n---\nDo.", "2:7: anchors and aliases are not read here"},
		{"---\n<<: {a: b}\n---\nDo.", "only plain keys"},
		{"---\nname: !!str x\n---\nDo.", "tags are not read here"},
		{"---\nname: \"a\\0\"\n---\nDo.", "a name is 1 to 32"},
		{"---\nname: \xff\n---\nDo.", "not UTF-8"},
		{"---\nname: \x00\n---\nDo.", "NUL"},
		{"---\noutput: " + strings.Repeat("[", 50) + "\n---\nDo.", "nested more than"},
		{"---\nexecutor: model\n---\n", "has no instruction"},
		{"---\nwrites: true\n---\nDo.", "writes is true, but the tools of role"},
		{"---\noutput: {type: object, $ref: \"file:///etc/passwd\"}\n---\nDo.", "schemas are not loaded from elsewhere"},
		{"---\ntools: [dispatch]\n---\nDo.", "only the master"},
		{"---\ntools: [~]\n---\nDo.", "tools[0] is empty"},
		{"---\nlimits: 5\n---\nDo.", "limits is not a set of fields: it has the fields turns,"},
	} {
		_, err := ParseRole("role.md", c.text)
		require.ErrorContains(t, err, c.want, "%q", c.text)
	}
}

func TestARoleThatFitsNoTaskOfTheProjectIsToldInItsFile(t *testing.T) {
	t.Parallel()
	repo := repository(t, map[string]string{
		".divisi/roles/a.md": "---\nmcp_servers:\n  hello:\n  helo:\n---\nDo.\n", ".divisi/roles/b.md": "---\n---\n\nDo it all.\n",
		".claude/agents/c.md": "---\nname: c\n---\nDo it all.\n",
	})
	set, err := Roles(repo, nil)
	require.NoError(t, err)
	p := spec.Project{MCPServers: map[string]spec.MCPServer{"hello": {Command: []string{"hello"}}}}
	require.NoError(t, set.Misfit("b", &p))
	require.EqualError(t, set.Misfit("a", &p), ".divisi/roles/a.md: 1 error\n  .divisi/roles/a.md:4:3: role a leaves the MCP server "+
		`"helo" to the project file, which has none of that name; there is only hello: define it there, or give it a command or a url `+
		"(did you mean \"hello\"?)\n    |   helo:\n    |   ^")
	p.MCPServers["helo"] = p.MCPServers["hello"]
	require.NoError(t, set.Misfit("a", &p), "what is told once is not kept")
	p.Models = map[string]spec.Model{"default": {Name: "tiny", Window: 2}}
	require.ErrorContains(t, set.Misfit("b", &p), ".divisi/roles/b.md:4:1: the instruction of role b has about 3 tokens")
	require.ErrorContains(t, set.Misfit("c", &p), ".claude/agents/c.md: the instruction of role c has about", "an import has no places")
}

func TestRolesOfARepositoryAreData(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret.md")
	require.NoError(t, os.WriteFile(outside, []byte("---\n---\nsecret\n"), 0o600))
	repo := repository(t, map[string]string{
		".divisi/roles/a.md": "---\nname: same\n---\nA.\n", ".divisi/roles/b.md": "---\nname: same\n---\nB.\n",
		".divisi/roles/bad.md":  "---\nx: 1\ny: 2\n---\nB.\n",
		".divisi/roles/huge.md": strings.Repeat("x", maxRole+1), ".divisi/roles/dir.md/x": "",
	})
	require.NoError(t, os.Symlink(outside, filepath.Join(repo, ".divisi/roles/out.md")))
	_, err := Roles(repo, []string{filepath.Join(repo, "missing.md"), repo})
	for _, want := range []string{
		`.divisi/roles/b.md: role "same" is in .divisi/roles/a.md already`, ".divisi/roles/bad.md: 2 errors",
		".divisi/roles/huge.md: the file cannot be read: it is larger than 64 KiB",
		".divisi/roles/dir.md: the file cannot be read: it is not a regular file",
		".divisi/roles/out.md: the file cannot be read: path escapes",
		"missing.md: the file cannot be read: no such file", "it is a directory",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "secret\n")
	_, err = Roles(filepath.Join(repo, "nowhere"), nil)
	require.ErrorContains(t, err, "open the repository")
}

func FuzzParseRole(f *testing.F) {
	for _, name := range []string{"master", "reader", "generator", "tester", "reviewer"} {
		text, err := embedded.ReadFile("roles/" + name + ".md")
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Add("---\na: &x [*x]\n? {b}\n: c\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxRole {
			return
		}
		role, err := ParseRole("fuzz.md", text)
		checkFaults(t, err)
		if err == nil {
			require.Empty(t, role.Validate(spec.Env{}))
		}
	})
}

// checkFaults demands that an error of a file has faults with places inside it.
func checkFaults(t *testing.T, err error) {
	t.Helper()
	var file *FileError
	if err == nil {
		return
	}
	require.ErrorAs(t, err, &file)
	require.NotEmpty(t, file.Faults)
	for _, fault := range file.Faults {
		require.NotEmpty(t, fault.Message)
		require.NotContains(t, fault.Source, "\x1b")
	}
}

func FuzzFrontMatter(f *testing.F) {
	f.Add("---\na: 1\n---\nbody\n---\n")
	f.Add("---")
	f.Add("---\r\n---\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		front, body, ok := frontMatter(lines)
		if !ok {
			return
		}
		require.True(t, strings.HasPrefix(text, "---"))
		require.True(t, strings.HasSuffix(text, body))
		require.NotContains(t, strings.Split(front, "\n"), "---")
		for i, line := range strings.Split(strings.TrimSuffix(front, "\n"), "\n")[1:] {
			if line != "" {
				require.Equal(t, lines[i+1], line, "places stay right")
			}
		}
	})
}

// A role file with faults has a name only where the fault cannot have hidden another one: a run that does not need it begins.
func TestTheNameOfABrokenRoleFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"---\nname: tester\ntools: [nope]\n---\nDo.":              "tester",
		"---\nname: tester\ncolour: red\n---\nDo.":                "tester",
		"---\ntools: [nope]\n---\nDo.":                            "judge",
		"---\nname: tester\n\tb: 2\n---\nDo.":                     "",
		"---\nname: tester\na: [\n---\nDo.":                       "",
		"---\nname: [tester]\n---\nDo.":                           "",
		"---\nname: Tester\n---\nDo.":                             "",
		"---\nnam: tester\n---\nDo.":                              "",
		"---\nname: judge\nname: tester\n---\nDo.":                "",
		"---\nname: judge\n...\nname: tester\n---\nDo.":           "",
		"---\nname: tester\n":                                     "",
		"name: tester\n":                                          "",
		"---\nname: tester\n---\n" + strings.Repeat("x", maxRole): "",
	} {
		set, err := RolesWith(repository(t, map[string]string{".divisi/roles/judge.md": text}), nil)
		require.NoError(t, err)
		require.Len(t, set.Broken, 1, text)
		require.Equal(t, want, set.Broken[0].Role, text)
		require.Equal(t, want == "", set.Breaks("other"), text)
	}
}
