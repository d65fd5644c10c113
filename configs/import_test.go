package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// imported reads one agent in a project that defines two MCP servers.
func imported(t *testing.T, by *dialect, text string) spec.Role {
	t.Helper()
	role, err := importAgent(by, by.dir+"/file-name.md", text, generatorTools(t), twoServers(t))
	require.NoError(t, err, text)
	require.Empty(t, role.Validate(spec.Env{}))
	return role
}

func generatorTools(t *testing.T) []string {
	t.Helper()
	roles, err := BuiltInRoles()
	require.NoError(t, err)
	return roles[spec.RoleGenerator].Tools
}

func twoServers(t *testing.T) *spec.Project {
	t.Helper()
	p, err := ParseProject("divisi.yaml", "mcp_servers:\n  issues: {command: [issues]}\n  docs: {url: 'http://127.0.0.1:1/mcp'}\n"+
		"models:\n  fast-opus: {name: local, provider: openai, base_url: 'http://127.0.0.1:1/v1'}\n")
	require.NoError(t, err)
	return &p
}

func TestImportOfClaudeCode(t *testing.T) {
	t.Parallel()
	role := imported(t, &claudeCode, `---
name: Code Reviewer
description: "Reviews changes.\n\nExamples:\n<example>\nuser: look\n</example>"
tools: Read, Grep, Glob, Bash, WebFetch, Bash(git log:*), mcp__issues__find, mcp__issues__get, mcp__docs, mcp__else__x, Frobnicate, LS
model: opus
effort: xhigh
maxTurns: 12
color: purple
hooks:
  PreToolUse: [{matcher: Bash}]
colour: blue
permissionMode: acceptEdits
---

Review ${{ secrets.TOKEN }} and {goal}.
`)
	require.Equal(t, "code-reviewer", role.Name)
	require.Equal(t, "Reviews changes.", role.Description)
	require.Equal(t, []string{"read_file", "search", "glob", "run_command", "list_files", "load_artifact"}, role.Tools)
	require.Equal(t, map[string]spec.MCPServer{"issues": {Tools: []string{"find", "get"}}, "docs": {}}, role.MCPServers)
	require.Equal(t, "strong", role.Model)
	require.Equal(t, "HIGH", role.Thinking)
	require.Equal(t, spec.Limits{Turns: 12}, role.Limits)
	require.False(t, role.Writes)
	require.Equal(t, spec.ExecutorModel, role.Executor)
	require.Equal(t, []string{
		`name: "Code Reviewer" is written "code-reviewer" here`,
		"tools: WebFetch is left out: no tool here reaches the web",
		"tools: Bash(git log:*) is left out, because run_command cannot be limited to some uses",
		"tools: mcp__else__x is left out: the project file defines no MCP server of that name",
		"tools: Frobnicate is left out: it is no tool of Claude Code that is known here",
		"permissionMode: agents ask for no permission here; commands are confined instead",
		"model: the alias strong stands for opus",
		"colour: the field is not known here",
		"hooks: hooks are not run: a gate can check a patch",
	}, role.Notices)
	tmpl, problems := spec.ParseTemplate(role.Instruction)
	require.Empty(t, problems)
	text, err := tmpl.Expand(nil)
	require.NoError(t, err)
	require.Equal(t, "Review ${{ secrets.TOKEN }} and {goal}.\n\nThe text above was written for Claude Code. Its tools have other "+
		"names here: Bash is run_command, Glob is glob, Grep is search, LS is list_files, Read is read_file. "+
		"Use only the tools that you have, and end with submit_result.", text)
}

func TestImportOfToolsThatAreNotListed(t *testing.T) {
	t.Parallel()
	all := append(slices.Clone(generatorTools(t)), spec.ToolLoadArtifact)
	for front, want := range map[string]struct{ with, without []string }{
		"":                        {with: generatorTools(t)},
		"tools:":                  {with: generatorTools(t)},
		"tools: *":                {with: generatorTools(t)},
		"tools: All tools":        {with: generatorTools(t)},
		"tools: Bash(*)":          {with: []string{spec.ToolRunCommand}},
		"tools: []":               {with: []string{spec.ToolLoadArtifact}, without: []string{spec.ToolReadFile}},
		"disallowedTools: Write":  {with: []string{spec.ToolEditFile}, without: []string{spec.ToolWriteFile}},
		"disallowedTools: [Bash]": {without: []string{spec.ToolRunCommand}},
		"permissionMode: plan":    {with: []string{spec.ToolReadFile}, without: []string{"edit_file", "write_file", "run_command"}},
		"tools: Read\ndisallowedTools: Read": {
			with: []string{spec.ToolLoadArtifact}, without: []string{spec.ToolReadFile},
		},
	} {
		role := imported(t, &claudeCode, "---\nname: x\n"+front+"\n---\nDo.\n")
		require.Subset(t, role.Tools, want.with, front)
		for _, tool := range want.without {
			require.Contains(t, append(all, role.Tools...), tool)
			require.NotContains(t, role.Tools, tool, front)
		}
		require.Equal(t, slices.ContainsFunc(role.Tools, spec.WritingTool), role.Writes, front)
	}
}

// Descriptions with colons, quotes and whole dialogues are what such files have; strict YAML they are not.
func TestImportOfFrontMatterThatIsNoYAML(t *testing.T) {
	t.Parallel()
	for _, front := range []string{
		`description: Use this: when "x" fails. Examples: <example>Context: a user: "hello"</example>`,
		"description: Use this: when \"x\" fails.\n\nExamples:\n\n<example>\nuser: \"hello\"\nassistant: 'hi'\n</example>",
		`description: "Use this: when "x" fails."`,
		"description: >\n  Use this: when \"x\" fails.\n  \nmemory: a: b",
		"description: 'Use this: when \"x\" fails.'\ncolor: [",
	} {
		role := imported(t, &claudeCode, "---\nname: debugger\n"+front+"\ntools:\n  - Read\n  - Task(scout, helper)\nmodel: haiku\n---\nDo.\n")
		require.Equal(t, `Use this: when "x" fails.`, role.Description, front)
		require.Equal(t, []string{"read_file", "delegate", "load_artifact"}, role.Tools, front)
		require.Equal(t, []string{"scout", "helper"}, role.Delegates, front)
		require.Equal(t, "cheap", role.Model, front)
		require.Equal(t, "its front matter is no YAML, and was read line by line", role.Notices[0], front)
	}
}

func TestImportOfModels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by          *dialect
		name, model string
		said        string
	}{
		{&claudeCode, "inherit", "", ""},
		{&claudeCode, "sonnet", "", "the alias default stands for sonnet"},
		{&claudeCode, "claude-opus-4-6", "strong", "the alias strong stands for claude-opus-4-6"},
		{&claudeCode, "fast-opus", "fast-opus", ""},
		{&claudeCode, "gpt", "", "gpt is not known here, and the default model is used"},
		{&geminiCLI, "gemini-3.8-flash", "gemini-3.8-flash", ""},
		{&geminiCLI, "pro", "strong", "the alias strong stands for pro"},
		{&geminiCLI, "auto", "", "the alias default stands for auto"},
		{&geminiCLI, "opus", "", "opus is not known here"},
	} {
		role := imported(t, c.by, "---\nmodel: "+c.name+"\n---\nDo.\n")
		require.Equal(t, c.model, role.Model, c.name)
		require.Equal(t, "file-name", role.Name)
		if c.said == "" {
			require.Empty(t, role.Notices, c.name)
		} else {
			require.Contains(t, strings.Join(role.Notices, "\n"), c.said)
		}
	}
}

// Where the default model is served elsewhere, no role may come to want a key of Gemini's.
func TestImportKeepsToTheDefaultsService(t *testing.T) {
	t.Parallel()
	p, err := ParseProject("divisi.yaml", "models: {default: {name: local, provider: openai, base_url: 'http://127.0.0.1:1/v1'}}\n")
	require.NoError(t, err)
	for by, name := range map[*dialect]string{&claudeCode: "opus", &geminiCLI: "gemini-3.8-flash"} {
		role, err := importAgent(by, "x.md", "---\nmodel: "+name+"\n---\nDo.", nil, &p)
		require.NoError(t, err)
		require.Empty(t, role.Model)
		require.Equal(t, []string{"model: the default model is used for " + name + ", because it is served elsewhere"}, role.Notices)
	}
}

func TestImportOfGeminiCLI(t *testing.T) {
	t.Parallel()
	role := imported(t, &geminiCLI, `---
kind: local
name: auditor
description: Looks for holes.
tools: [read_file, read_many_files, grep_search, replace, google_web_search, mcp_issues_get_all, mcp_docs_*, mcp_none_x]
mcp_servers:
  docs: {command: evil}
  own: {command: evil, env: {A: b}}
temperature: 0.2
max_turns: 18
timeout_mins: 12
---
Audit.
`)
	require.Equal(t, []string{"read_file", "search", "edit_file", "load_artifact"}, role.Tools)
	require.Equal(t, map[string]spec.MCPServer{"issues": {Tools: []string{"get_all"}}, "docs": {}}, role.MCPServers)
	require.Equal(t, spec.Limits{Turns: 18, Time: spec.Duration(12 * time.Minute)}, role.Limits)
	require.True(t, role.Writes)
	require.Equal(t, []string{
		"tools: google_web_search is left out: no tool here reaches the web",
		"tools: mcp_none_x is left out: the project file defines no MCP server of that name",
		"mcp servers: define own in .divisi/divisi.yaml, then the role has it",
		"temperature: the model's own temperature is kept",
	}, role.Notices)

	every := imported(t, &geminiCLI, "---\ntools: ['*', 'mcp_*']\nmax_turns: many\ntimeout_mins: 99999999999\n---\nDo.\n")
	require.Subset(t, every.Tools, generatorTools(t))
	require.Equal(t, map[string]spec.MCPServer{"issues": {}, "docs": {}}, every.MCPServers)
	require.Zero(t, every.Limits)
	require.Equal(t, []string{
		"max_turns: many is no number from 1 to 2147483647", "timeout_mins: 99999999999 is no number from 1 to 10080",
	}, every.Notices)
}

func TestImportsThatMakeNoRole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"# Notes\n", "it has no front matter, as an agent of Gemini CLI has"},
		{"---\nname: x\n", "no front matter"},
		{"---\nkind: remote\nagent_card_url: http://x\n---\n", "it is a remote agent"},
		{"---\nkind: Remote\n---\nYou read.", "it is a remote agent"},
		{"---\nname: x\nagent_card_url: http://x\n---\nYou read.", "it is a remote agent"},
		{"---\nname: x\nagentCardUrl: http://x\n---\nYou read.", "it is a remote agent"},
		{"---\ndescription: a: b\nagent_card_json: '{}'\n---\nYou read.", "it is a remote agent"},
		{"---\n- kind: remote\n---\nx", "it is a remote agent"},
		{"---\nname: x\n---\n \n", "it has no instruction below its front matter"},
		{"---\nname: x\n---\na\x00b", "NUL"},
	} {
		role, err := importAgent(&geminiCLI, ".gemini/agents/x.md", c.text, nil, &spec.Project{})
		require.ErrorContains(t, err, c.want, "%q", c.text)
		require.Equal(t, "x", role.Name, "the name that it would have")
	}
	_, err := importAgent(&geminiCLI, ".gemini/agents/日本.md", "---\nname: 日本\n---\nDo.", nil, &spec.Project{})
	require.ErrorContains(t, err, "a name is 1 to 32")
}

func TestOrderOfImportedRoles(t *testing.T) {
	t.Parallel()
	agent := func(name, text string) string { return "---\nname: " + name + "\n---\n" + text + "\n" }
	outside := filepath.Join(t.TempDir(), "secret.md")
	require.NoError(t, os.WriteFile(outside, []byte(agent("out", "secret")), 0o600))
	repo := repository(t, map[string]string{
		".gemini/agents/a.md": agent("both", "gemini"), ".gemini/agents/_draft.md": agent("draft", "x"),
		".gemini/agents/tester.md": agent("tester", "evil"), ".gemini/agents/only.md": agent("only", "gemini"),
		".claude/agents/b.md": agent("both", "claude"), ".claude/agents/c.md": agent("Both", "again"),
		".claude/agents/own.md": agent("own", "claude"), ".claude/agents/README.md": "# Agents\n",
		".claude/agents/huge.md": agent("huge", strings.Repeat("x", maxRole)), ".claude/agents/notes.txt": "x",
		".claude/agents/asks.md": "---\nname: asks\ntools: Read, Task(both, nobody)\n---\nx\n",
		".claude/agents/lone.md": "---\nname: lone\ntools: Read, Task(nobody)\n---\nx\n",
		".divisi/roles/own.md":   agent("own", "divisi"),
		".divisi/roles/keys.md":  "---\ncommand: [env]\nsecrets: [GEMINI_API_KEY]\n---\n",
	})
	require.NoError(t, os.Symlink(outside, filepath.Join(repo, ".claude/agents/out.md")))
	set, err := Roles(repo, nil)
	require.NoError(t, err)
	require.Contains(t, set.Roles["both"].Instruction, "claude")
	require.Equal(t, []string{"it takes the place of .gemini/agents/a.md"}, set.Roles["both"].Notices)
	require.Equal(t, ".gemini/agents/only.md", set.Roles["only"].Source)
	require.Equal(t, "divisi", set.Roles["own"].Instruction)
	require.Equal(t, BuiltIn, set.Roles["tester"].Source)
	require.Equal(t, []string{"both"}, set.Roles["asks"].Delegates)
	require.Contains(t, set.Roles["asks"].Notices, "tools: agents that are no roles here cannot be called")
	require.NotContains(t, set.Roles["lone"].Tools, spec.ToolDelegate, "no delegates would mean every role")
	for _, name := range []string{"draft", "huge", "out", "readme", "keys"} {
		require.NotContains(t, set.Roles, name)
	}
	require.Equal(t, []Skipped{
		{
			"tester", ".gemini/agents/tester.md",
			"role tester is built in, and an imported agent never replaces it: give the agent another name, or write .divisi/roles/tester.md",
		},
		{"readme", ".claude/agents/README.md", "it has no front matter, as an agent of Claude Code has"},
		{"both", ".claude/agents/c.md", "role both is in .claude/agents/b.md already"},
		{"huge", ".claude/agents/huge.md", "the file cannot be read: it is larger than 64 KiB"},
		{"out", ".claude/agents/out.md", "the file cannot be read: path escapes from parent"},
		{"keys", ".divisi/roles/keys.md", "only a role file that you name yourself can use secrets"},
	}, set.Skipped)

	set, err = Roles(repo, []string{filepath.Join(repo, ".divisi/roles/keys.md"), filepath.Join(repo, ".claude/agents/own.md")})
	require.NoError(t, err)
	require.Equal(t, []string{"GEMINI_API_KEY"}, set.Roles["keys"].Secrets)
	require.Contains(t, set.Roles["own"].Instruction, "claude")
	require.NotContains(t, set.Skipped, "keys")
	_, err = Roles(repo, []string{filepath.Join(repo, ".gemini/agents/tester.md")})
	require.ErrorContains(t, err, "role tester is built in")
}

func TestImportsAreBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range maxImports + 2 {
		files[".gemini/agents/a"+strings.Repeat("x", i/26%26)+string(rune('a'+i%26))+strings.Repeat("z", i/676)+".md"] = "---\n---\nDo.\n"
	}
	for _, name := range strings.Split("b c d e f g h i", " ") {
		files[".claude/agents/"+name+".md"] = "---\n---\n" + strings.Repeat("x", 60<<10)
	}
	set, err := Roles(repository(t, files), nil)
	require.NoError(t, err)
	why := ""
	for _, s := range set.Skipped {
		why += s.Why + "\n"
	}
	require.Contains(t, why, "more than 300 agents: name the role file yourself")
	require.Contains(t, why, "KiB already: name this role file yourself")
}

func TestDirectoryOfAgentsThatLeadsOut(t *testing.T) {
	t.Parallel()
	repo, outside := t.TempDir(), repository(t, map[string]string{"agents/x.md": "---\nname: x\n---\nsecret\n"})
	require.NoError(t, os.Symlink(outside, filepath.Join(repo, ".claude")))
	set, err := Roles(repo, nil)
	require.NoError(t, err)
	require.Len(t, set.Roles, 6)
	require.Len(t, set.Skipped, 1)
	require.Contains(t, set.Skipped[0].Why, "the directory cannot be read")
}

func TestDelegatesOfRoleFilesAreLookedFor(t *testing.T) {
	t.Parallel()
	repo := repository(t, map[string]string{
		".divisi/roles/lead.md":  "---\ntools: [delegate]\ndelegates: [scuot]\n---\nDo.\n",
		".divisi/roles/scout.md": "---\n---\nLook.\n",
	})
	_, err := Roles(repo, nil)
	require.ErrorContains(t, err, `.divisi/roles/lead.md:3:13: there is no role "scuot"; there are generator, lead, master, reader, `+
		`reviewer, scout, test-writer, tester (did you mean "scout"?)`)
}

func FuzzImportAgent(f *testing.F) {
	f.Add("---\nname: x\ndescription: a: b\ntools: Read, Task(a, b), *\n---\n{goal}", true)
	f.Add("---\ntools: ['*', mcp_a_b]\nmcp_servers: {a: {}}\nmodel: pro\nmax_turns: 3\n---\nx", false)
	f.Add("---\n- a\n---\nx", false)
	f.Fuzz(func(t *testing.T, text string, claude bool) {
		if len(text) > maxRole {
			return
		}
		by := &geminiCLI
		if claude {
			by = &claudeCode
		}
		role, err := importAgent(by, by.dir+"/fuzz.md", text, []string{spec.ToolReadFile, spec.ToolEditFile},
			&spec.Project{MCPServers: map[string]spec.MCPServer{"a": {Command: []string{"a"}}}})
		if err != nil {
			return
		}
		require.Empty(t, role.Validate(spec.Env{}))
		tmpl, problems := spec.ParseTemplate(role.Instruction)
		require.Empty(t, problems)
		require.Empty(t, tmpl.Keys(), "an imported text has no keys")
		for _, notice := range role.Notices {
			require.Equal(t, printable(notice, maxSource), notice)
		}
	})
}
