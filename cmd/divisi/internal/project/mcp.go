package project

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/runs"
	"divisi/configs"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/door"
)

// NewMCP makes divisi mcp.
func NewMCP(g *Globals) *cobra.Command {
	var s mcpServer
	var install string
	var yes bool
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the runs to an agent in an editor, as MCP tools",
		Long: `Serve the runs of this machine, or of the server of --on, as tools of the Model Context Protocol on
standard input and output, for an agent in an editor that starts this command. The tools list runs,
report, show tasks, patches, logs and decisions, preview a plan file, and wait for what needs you.
With --act the agent also starts runs on the repository, answers decisions for you, and retries,
skips, drops, pauses, resumes and cancels. Trust in a repository stays with you: divisi trust. Runs go
on when the agent is gone. See docs/mcp.md.` + cli.Codes(cli.CodeOK, cli.CodeUsage, cli.CodeStopped, cli.CodeMachine),
		Example: "  divisi mcp\n  divisi mcp --act --repo ~/src/app\n  divisi mcp --act --install claude",
		RunE: func(c *cobra.Command, _ []string) error {
			s.Globals = g
			if err := s.find(); err != nil {
				return err
			}
			if install != "" {
				return s.install(c.Context(), install, c.Flags().Changed("repo"), yes)
			}
			return s.serve(c.Context())
		},
	}
	c.Flags().StringVar(&s.repo, "repo", ".", "the repository whose plan files are read, and on which runs start")
	c.Flags().BoolVar(&s.act, "act", false, "also start runs and act on them; without it the tools only read")
	c.Flags().StringVar(&install, "install", "", "write this server, with its flags, to your settings of a program: "+programs())
	c.Flags().BoolVar(&yes, "yes", false, "with --install: write without prompting")
	return c
}

// mcpServer serves one client.
type mcpServer struct {
	*Globals

	repo string
	act  bool
}

// find makes the path of the repository whole.
func (s *mcpServer) find() error {
	if err := cli.CheckDir(s.repo); err != nil {
		return err
	}
	repo, err := filepath.Abs(s.repo)
	if err != nil {
		return usage.Errorf("--repo %s: %v", s.repo, err)
	}
	s.repo = cli.Top(repo)
	return nil
}

func (s *mcpServer) serve(ctx context.Context) error {
	if err := s.inRepository(); err != nil {
		fmt.Fprintln(s.Err, display.SanitizeLines(s.words(err)))
	}
	if cli.IsTerminal(s.In) {
		fmt.Fprintln(s.Err, "divisi mcp speaks the Model Context Protocol on standard input: an editor starts it; Ctrl-C ends it")
	}
	o := door.MCPOptions{Place: s.Runs(), Begin: s.Begin, Trust: s.agreed}
	o.Repo, o.StateDir, o.Acts, o.ToAct = s.repo, s.StateDir, s.act, s.calls("divisi mcp --act --repo "+text.Shell(s.repo))
	o.Preview, o.Start, o.Calls, o.Words = s.preview, s.start, s.calls, s.words
	return door.ServeMCP(s.Log.WithContext(ctx), o, io.NopCloser(s.In), toClient{s.Out})
}

// calls completes the commands of a text. They always name the state directory: the shell of the person can have another one as
// its usual one than the editor.
func (s *mcpServer) calls(text string) string { return s.Called.ReplaceAllStringFunc(text, s.InState) }

// toClient is standard output, which stays open.
type toClient struct{ io.Writer }

// Close implements io.Closer.
func (toClient) Close() error { return nil }

// maxPlanFile bounds a plan or role file, in bytes.
const maxPlanFile = 1 << 20

// file reads a plan or role file of the repository: no name, and no link in it, leads to a file elsewhere.
func (s *mcpServer) file(what, name string, ends ...string) (f orchestrator.File, err error) {
	name = filepath.FromSlash(name)
	if !filepath.IsLocal(name) || !slices.Contains(ends, filepath.Ext(name)) {
		return f, usage.Errorf("%s %.80q: name a file (%s) of the repository by its path", what, name, strings.Join(ends, " "))
	}
	if err := s.inRepository(); err != nil {
		return f, err
	}
	root, err := os.OpenRoot(s.repo)
	if err != nil {
		return f, fmt.Errorf("open the repository: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	var at *fs.PathError
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, usage.Errorf("%s %.80q: there is no such file in %s", what, name, s.repo)
	case errors.As(err, &at):
		return f, usage.Errorf("%s %.80q: %v", what, name, at.Err)
	case err != nil:
		return f, usage.Errorf("%s %.80q: %v", what, name, err)
	case !info.Mode().IsRegular():
		return f, usage.Errorf("%s %.80q is not a regular file", what, name)
	case info.Size() > maxPlanFile:
		return f, usage.Errorf("%s %.80q has %d bytes; at most %d are allowed", what, name, info.Size(), maxPlanFile)
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return f, usage.Errorf("%s %.80q: %v", what, name, err)
	}
	return orchestrator.File{Name: filepath.Join(s.repo, name), Data: data}, nil
}

// options are those of a run that a client describes, with its files. grants are what its role files and its coding agent request
// of a person.
func (s *mcpServer) options(ctx context.Context, w door.MCPWork) (o orchestrator.Options, grants *runs.Trust, err error) {
	o.Repo, o.Base, o.Agent = s.repo, w.Base, w.Agent
	if w.Plan != "" {
		file, err := s.file("plan", w.Plan, ".yaml", ".yml")
		if err != nil {
			return o, nil, err
		}
		o.Plan = &file
	}
	var roles []configs.File
	for _, name := range w.Roles {
		file, err := s.file("role", name, ".md")
		if err != nil {
			return o, nil, err
		}
		o.Roles, roles = append(o.Roles, file), append(roles, configs.File{Name: file.Name, Text: string(file.Data)})
	}
	grants, err = s.TrustingRoles(ctx, s.repo, roles, w.Agent)
	return o, grants, err
}

// refusal is why work cannot begin before a person has agreed to a list, with the question for them; nil where they have.
func refusal(t *runs.Trust, err error) error {
	if err != nil {
		return err
	}
	if err = t.Refusal(); err == nil || t.Fault != nil {
		return err
	}
	return &door.MCPQuestionError{Err: err, Text: t.Question(), Agree: t.Agree}
}

// agreed decides about the repository of a client's act.
func (s *mcpServer) agreed(ctx context.Context, repo string, requests []string) (bool, error) {
	err := refusal(s.Trusting(ctx, repo, requests))
	return err == nil, err
}

// preview expands a plan file as a dry run does.
func (s *mcpServer) preview(ctx context.Context, w door.MCPWork) (p door.MCPPreview, err error) {
	o, grants, err := s.options(ctx, w)
	if err != nil {
		return p, err
	}
	p.Requests, p.Trusted = grants.Requests, grants.Trusted // and what the repository's files request
	o.StateDir = s.StateDir
	o.Notice = func(text, code string) {
		next, ok := clientNext[code]
		if !ok {
			next = cli.Coded[code]
		}
		p.Notes = append(p.Notes, s.calls(strings.TrimSuffix(text+"\n"+next, "\n")))
	}
	o.Trust = func(ctx context.Context, requests []string) (bool, error) {
		t, err := s.Trusting(ctx, s.repo, requests)
		p.Requests, p.Trusted = append(p.Requests, t.Requests...), p.Trusted && t.Trusted
		return t.Trusted, err
	}
	got, err := orchestrator.Preview(s.Log.WithContext(ctx), o)
	p.Plan, p.Detected, p.Setup = got.Plan, got.Detected, got.Setup
	for _, g := range got.Gates {
		p.Gates = append(p.Gates, door.MCPGate{Gate: g.Name, Command: g.Command})
	}
	for _, why := range got.Refused {
		p.Refused = append(p.Refused, s.words(why))
	}
	if p.Detected || len(p.Setup) > 0 {
		p.Notes = append(p.Notes, s.calls("Gates or setup are not in .divisi/divisi.yaml yet. Ask the person to have them "+
			"proposed and tried: divisi init --repo "+text.Shell(s.repo)))
	}
	return p, err
}

// start starts a process that begins a run, and returns its id. What the repository's files request has been agreed to by then:
// no client agrees for a person.
func (s *mcpServer) start(ctx context.Context, w door.MCPWork) (run string, err error) {
	args := []string{"run", "--repo", s.repo}
	o, grants, err := s.options(ctx, w)
	if err != nil {
		return "", err
	}
	if o.Plan != nil {
		args = append(args, "--plan", o.Plan.Name)
	}
	if w.Agent != "" {
		args = append(args, "--agent", w.Agent)
	}
	roles := o.Roles
	o.Roles = nil // they are read from where keep writes them: in the checkout they are changes like all others
	if err := orchestrator.Startable(ctx, o); err != nil {
		return "", err
	}
	if _, err := s.agreed(ctx, s.repo, nil); err != nil {
		return "", err
	}
	if err := refusal(grants, nil); err != nil {
		return "", err
	}
	for _, f := range roles {
		name, err := s.keep(f)
		if err != nil {
			return "", err
		}
		args = append(args, `--role="`+strings.ReplaceAll(name, `"`, `""`)+`"`) // the flag's value is a line of CSV
	}
	if s.At.URL != "" {
		args = append(args, "--detach")
	} else {
		args = append(args, "--wait")
	}
	if w.Base != "" {
		args = append(args, "--base="+w.Base)
	}
	budget := strconv.Itoa(w.Budget)
	if w.Dollars > 0 {
		budget = strconv.FormatFloat(w.Dollars, 'f', -1, 64) + "usd"
	}
	args = append(args, "--budget="+budget, fmt.Sprintf("--parallel=%d", w.Parallel))
	if w.Goal != "" {
		args = append(args, "--", w.Goal)
	}
	return s.begun(ctx, args)
}

// keep writes a role file that was agreed to where no program of the repository changes it, and a retry finds it.
func (s *mcpServer) keep(f orchestrator.File) (name string, err error) {
	in, err := filepath.Rel(s.repo, f.Name)
	if err != nil {
		return "", fmt.Errorf("name a role file: %w", err)
	}
	name = filepath.Join(s.StateDir, "trust", "roles", fmt.Sprintf("%.16x", sha256.Sum256(f.Data)), in)
	if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
		err = maybe.WriteFile(name, f.Data, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("keep a role file: %w", err)
	}
	return name, nil
}

// begun starts a process that begins a run. What it printed is kept with the run.
func (s *mcpServer) begun(ctx context.Context, args []string) (run string, err error) {
	if err := os.MkdirAll(s.StateDir, 0o700); err != nil {
		return "", fmt.Errorf("make the state directory: %w", err)
	}
	log, err := os.CreateTemp(s.StateDir, "start-*.log")
	if err != nil {
		return "", fmt.Errorf("make the log of a run that begins: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	why, err := s.Outlive(ctx, log, runs.BeginTime, args...)
	switch {
	case why != "":
		return "", errors.Join(usage.Errorf("no run was started: %s", display.Visible(why)), os.Remove(log.Name()))
	case errors.Is(err, cli.ErrLate):
		return "", usage.Errorf("the run has not begun after %s, and may still begin: list the runs; its output is in %s",
			runs.BeginTime, log.Name())
	case err != nil:
		return "", fmt.Errorf("start a run: %w", err)
	}
	if run, err = cli.RunIn(log.Name()); err != nil {
		return "", err
	}
	if run == "" { // the process has ended well: there was nothing to do
		return "", errors.Join(usage.Errorf("no run was started: %s", display.Visible(cli.Reason(log.Name()))),
			os.Remove(log.Name()))
	}
	if s.At.URL != "" {
		return run, os.Remove(log.Name())
	}
	return run, os.Rename(log.Name(), filepath.Join(s.StateDir, "runs", run, "start.log"))
}
