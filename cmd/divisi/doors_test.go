package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"divisi/cmd/divisi/internal/acts"
	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/inspect"
	"divisi/cmd/divisi/internal/runs"
	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/door"
)

// actedPlan has a task for each act, by its name.
const actedPlan = `
goal: Try each act
tasks:
  - {id: drops, role: writes, brief: Write., files: [drops.txt]}
  - {id: decides, role: weakens, brief: Weaken., files: [decides_test.go]}
  - {id: accepts, role: weakens, brief: Weaken., files: [accepts_test.go]}
  - {id: sends, role: weakens, brief: Weaken., files: [sends_test.go]}
  - {id: retries, role: fails, brief: Fail., files: [retries.txt], attempts: 1}
  - {id: gives, role: fails, brief: Fail., files: [gives.txt], attempts: 1}
  - {id: skips, role: writes, brief: Write., files: [skips.txt], depends_on: [decides]}
  - {id: cancels, role: writes, brief: Write., files: [cancels.txt], depends_on: [decides]}
`

// actedRepo makes the repository of the plan: drops lands, three patches are held, two tasks park, and two wait.
func actedRepo(t *testing.T, dir string) {
	t.Helper()
	files := map[string]string{".divisi/divisi.yaml": "gates:\n  - {name: test, command: ['true']}\n"}
	for name, command := range map[string]string{
		"writes": `[sh, -c, 'echo more > "$1"', sh, '{files}']`, "weakens": "[sed, -i, /TestB/d, '{files}']", "fails": "['false']",
	} {
		files[".divisi/roles/"+name+".md"] = "---\ndescription: It " + name + "\nexecutor: command\ncommand: " + command + "\n---\nx\n"
	}
	for _, task := range []string{"decides", "accepts", "sends"} {
		files[task+"_test.go"] = "package p\n\nfunc TestA(t *testing.T) { t.Fail() }\nfunc TestB(t *testing.T) { t.Fail() }\n"
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".divisi", "roles"), 0o700))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-q", "-m", "Begin"},
	} {
		require.NoError(t, exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).Run())
	}
}

// acted is one run, with what its doors need.
type acted struct {
	repo, state, run string
	on               string // the server of the run, as the command line names it; "" for none
	page             string // the address of the server's page; "" for one of this process
	runs             orchestrator.Runs
	who              string   // who acts, as the log has it
	dir              string   // for what is taken
	decisions        []string // pairs of a task in capitals, and the id of its decision
	before           int      // lines of the log before the first act
	active           bool     // a process has the run
	holder           *orchestrator.Run
	began            int // how often a process was to be started that resumes the run
}

// begin stands for the process that resumes a run: none is started.
func (a *acted) begin(context.Context, string) error {
	a.began++
	return nil
}

// way leads to a run, through a door of it. do does what a cell of the table asks for, and returns the outcome, or why not.
type way struct {
	name string
	as   string // what the log has behind the name of the person
	has  func(*tried) bool
	do   func(t *testing.T, a *acted, what *tried) (string, error)
}

// doors are all ways to a run.
var doors = []way{
	{"command line", "", func(a *tried) bool { return a.command != "" }, commandLine},
	{"terminal board", "", func(a *tried) bool { return a.board != "" }, theBoard},
	{"page", "", func(a *tried) bool { return a.page != "" }, thePage},
	{"MCP", "--mcp-vim", func(a *tried) bool { return a.tool != "" }, theTools},
	{"Go API", "", func(a *tried) bool { return a.api != nil }, theAPI},
}

// named is a text of the table for this run. A task in capitals becomes its open decision.
func (a *acted) named(text string) string {
	return strings.NewReplacer(append([]string{"RUN", a.run, "DIR", a.dir, "WHO", a.who, "LONG", tenMegabytes}, a.decisions...)...).Replace(text)
}

// commandLine is the program, in this process.
func commandLine(_ *testing.T, a *acted, what *tried) (string, error) {
	args := []string{"--state-dir", a.state}
	if a.on != "" {
		args = append(args, "--on", a.on)
	}
	for _, word := range shellWord.FindAllString(a.named(what.command), -1) {
		args = append(args, strings.Trim(word, "'"))
	}
	var out, said bytes.Buffer
	if code := execute(args, strings.NewReader(""), &out, &said); code != cli.CodeOK {
		return "", errors.New(said.String())
	}
	return strings.TrimPrefix(further.ReplaceAllString(strings.TrimSpace(out.String()), ""), a.run+": "), nil
}

// further is what a command adds to an outcome: how a person goes on.
var further = regexp.MustCompile(`; (resume|start the line) with: .*`)

// theBoard is the controller of the live view.
func theBoard(t *testing.T, a *acted, what *tried) (string, error) {
	t.Helper()
	var out bytes.Buffer
	g := &cli.Globals{Out: &out, Err: &out}
	newRoot(g)
	g.StateDir = a.state
	require.NoError(t, g.Setup())
	all := &runs.Globals{Globals: acts.Globals{Globals: inspect.Globals{Globals: g}}}
	c, given := &runs.Controls{Globals: all, Run: a.run}, map[string]any{}
	name, text, _ := strings.Cut(a.named(what.board), " ")
	require.NoError(t, json.Unmarshal([]byte(text), &given))
	if name == "take" {
		return c.Take(t.Context(), given["task"].(string), given["dir"].(string)) //nolint:forcetypeassert // the table has them
	}
	do, err := act.Find(name).With(given)
	require.NoError(t, err)
	done, _, err := c.Do(t.Context(), []act.Args{do})
	return done.Text, err
}

// theAPI is what a program calls that embeds the package.
func theAPI(t *testing.T, a *acted, what *tried) (string, error) {
	t.Helper()
	r, err := a.runs.Open(t.Context(), a.run)
	if err != nil {
		return "", err
	}
	defer func() { require.NoError(t, r.Close()) }()
	return what.api(t.Context(), r, a.dir)
}

// thePage is the API of the page: that of a server, or one of this process.
func thePage(t *testing.T, a *acted, what *tried) (string, error) {
	t.Helper()
	page := a.page
	if page == "" {
		p, err := orchestrator.NewPage(t.Context(), orchestrator.PageOptions{Runs: a.runs, Begin: a.begin, Trust: agrees})
		require.NoError(t, err)
		require.NoError(t, p.Start(t.Context()))
		defer p.Stop()
		page = p.URL()
	}
	client, err := entered(page)
	require.NoError(t, err)
	at, err := addressOf(page)
	require.NoError(t, err)
	address, body, _ := strings.Cut(a.named(what.page), " ")
	at.Path = "/api/v1/runs/" + a.run + "/" + address
	status, answer, err := sent(client, at, body)
	for err == nil && status == http.StatusNotFound { // the page is about to find its runs
		status, answer, err = sent(client, at, body)
	}
	require.NoError(t, err)
	return worked(t, a, []byte(answer))
}

// theTools is the server of the Model Context Protocol. It adds the run to the arguments.
func theTools(t *testing.T, a *acted, what *tried) (string, error) {
	t.Helper()
	in, theirs := io.Pipe()
	ours, out := io.Pipe()
	over := make(chan error, 1)
	go func() {
		o := door.MCPOptions{Place: a.runs, Begin: a.begin, Trust: agrees}
		o.Repo, o.StateDir, o.Acts = a.repo, a.state, true
		o.Words, o.Calls = error.Error, func(text string) string { return text }
		over <- door.ServeMCP(t.Context(), o, in, out)
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "vim", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: ours, Writer: theirs}, nil)
	require.NoError(t, err)
	defer func() {
		require.NoError(t, session.Close())
		require.NoError(t, <-over)
	}()
	name, text, _ := strings.Cut(a.named(what.tool), " ")
	args := map[string]any{}
	require.NoError(t, json.Unmarshal([]byte(text), &args))
	args["run"] = a.run
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	require.NoError(t, err)
	answer := words(r)
	if r.IsError {
		return "", errors.New(answer)
	}
	return worked(t, a, []byte(answer))
}

// worked reads the answer of a page or a tool. It reports that a process was started where one was.
func worked(t *testing.T, a *acted, answer []byte) (string, error) {
	t.Helper()
	var said struct {
		Outcome string `json:"outcome"`
		Error   string `json:"error"`
		Started bool   `json:"started"`
	}
	require.NoError(t, json.Unmarshal(answer, &said), string(answer))
	require.Equal(t, a.began > 0, said.Started, string(answer))
	a.began = 0
	if said.Error != "" {
		return "", errors.New(said.Error)
	}
	return said.Outcome, nil
}

func agrees(context.Context, string, []string) (bool, error) { return true, nil }
