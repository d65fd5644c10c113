package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"divisi/bus"
	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/model/chat"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// project looks at the repository's own files, and at what they need: keys, gates, roles.
func (d *doctor) project(ctx context.Context) []finding {
	where := top(d.repo)
	set, rolesErr := configs.Roles(where, nil)
	p, projectErr := configs.Project(where)
	var found []finding
	var misfit error
	if projectErr == nil {
		misfit = misfits(set, &p)
	}
	for _, err := range []error{projectErr, rolesErr, misfit} {
		if err != nil {
			found = append(found, bad("config", "mend the file; divisi config and divisi roles validate check it", "%v", err))
		}
	}
	for _, s := range set.Skipped {
		found = append(found, warn("config", "", "%s makes no role: %s", s.File, s.Why))
	}
	if len(found) == 0 {
		found = []finding{fine("config", "%d roles; see divisi roles and divisi config", len(set.Roles))}
	}
	if projectErr != nil {
		return found
	}
	checkout, _ := inspected(ctx, d.repo) // why it cannot be read is told by the gates' check
	t := d.trusting(where, checkout, &p, set)
	return slices.Concat(found, t.findings(), writable(checkout), d.keys(ctx, p, t.trusted), toolServers(p, set.Roles),
		d.gates(ctx, p))
}

// inspected looks at the repository that a directory is in.
func inspected(ctx context.Context, dir string) (*git.Checkout, error) {
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	g, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	return g.Inspect(ctx, dir)
}

// findings show what the files of the repository request, and whether a run would ask.
func (t *trusting) findings() []finding {
	found := make([]finding, 0, len(t.requests)+1)
	for _, r := range t.requests {
		found = append(found, fine("trust", "requested: %s", r))
	}
	if t.fault != nil {
		found = append(found, warn("trust", "", "%v", t.fault))
	}
	if t.trusted {
		return append(found, fine("trust", "%s", t.state()))
	}
	return append(found, warn("trust", "", "%s", t.state()))
}

// toolServers say of each role with tool servers whether these can be given what they need of the environment.
func toolServers(p spec.Project, roles map[string]spec.Role) []finding {
	var found []finding
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		role := roles[name]
		faults := serverFaults(&p, &role)
		for _, err := range faults {
			found = append(found, bad("mcp", "until then every task of the role fails", "role %s: %v", name, err))
		}
		if len(role.MCPServers) > 0 && len(faults) == 0 {
			found = append(found, fine("mcp", "role %s: the environment has what its tool servers need (%s)",
				name, strings.Join(slices.Sorted(maps.Keys(role.MCPServers)), ", ")))
		}
	}
	return found
}

// writable says when a result could not be published to the repository. What else is wrong with it the gates' check tells.
func writable(c *git.Checkout) []finding {
	if c == nil {
		return nil
	}
	if err := c.Writable(); err != nil {
		return []finding{bad("repository", hintFor(err), "%v", err)}
	}
	return nil
}

// origin is where models are served: what one key opens.
type origin struct {
	provider string
	at       place
}

func (s origin) String() string {
	if s.at.baseURL == "" {
		return s.provider
	}
	return s.provider + " at " + s.at.baseURL
}

// connect makes the client of a service, and what ends it.
func (s origin) connect(ctx context.Context) (m model.Model, end func(), err error) {
	if s.provider == spec.ProviderOpenAI {
		m, err = s.at.connect(nil)
		return m, func() {}, err
	}
	g, err := model.NewGemini(ctx, model.Options{})
	if err != nil {
		return nil, nil, err
	}
	return g, g.Close, nil
}

// services are those of the project's models, each with the aliases that it serves.
func services(p spec.Project) map[origin][]string {
	aliases := map[origin][]string{}
	for _, alias := range slices.Sorted(maps.Keys(p.Models)) {
		m := p.Models[alias]
		s := origin{m.Provider, place{m.BaseURL, m.KeyEnv}}
		aliases[s] = append(aliases[s], alias)
	}
	return aliases
}

// keys says of each service whether its key is set, without which plans of commands work all the same; and, where asked for,
// what it answers. A service that the repository names is called when the repository is trusted.
func (d *doctor) keys(ctx context.Context, p spec.Project, trusted bool) []finding {
	var found []finding
	byService := services(p)
	for _, s := range slices.SortedFunc(maps.Keys(byService), func(a, b origin) int {
		return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.at.keyEnv, b.at.keyEnv))
	}) {
		aliases := byService[s]
		of := fmt.Sprintf(" for the models %s (%s)", strings.Join(aliases, ", "), s)
		client, end, err := s.connect(ctx)
		if err != nil {
			found = append(found, warn("key", "plans of commands need none", "%v%s", err, of))
			continue
		}
		found = append(found, fine("key", "%s%s", s.key(), of))
		switch {
		case d.call && !trusted && s.provider == spec.ProviderOpenAI:
			found = append(found, warn("call", "agree first: divisi trust", "%s is not called: the repository is not trusted", s))
		case d.call:
			alias := aliases[0]
			if slices.Contains(aliases, spec.ModelCheap) {
				alias = spec.ModelCheap
			}
			found = append(found, ask(ctx, client, p.ModelName(alias)))
		}
		end()
	}
	return found
}

// key tells which key a service that can be reached is given.
func (s origin) key() string {
	names := []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}
	if s.provider == spec.ProviderOpenAI {
		names = []string{s.at.keyEnv}
		if s.at.baseURL == "" {
			names = []string{cmp.Or(s.at.keyEnv, chat.DefaultKeyEnv)}
		}
	}
	for _, name := range names {
		if os.Getenv(name) != "" {
			return name + " is set"
		}
	}
	if s.provider == spec.ProviderOpenAI {
		return "none is wanted"
	}
	return "the default credentials of Google Cloud are used"
}

// ask makes one short call, as a run would.
func ask(ctx context.Context, client model.Model, name string) finding {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	begun := time.Now()
	const few = 256 // tokens, thoughts included
	req := &model.Request{
		Model: name, Contents: []*genai.Content{genai.NewContentFromText("Answer with the word ok.", genai.RoleUser)},
		Config: &genai.GenerateContentConfig{MaxOutputTokens: few}, Meta: model.Meta{Run: "doctor", Purpose: "doctor"},
	}
	for ev, err := range model.New(client, model.Policy{}).Generate(ctx, req) {
		if err != nil {
			return bad("call", "look at the key, the model's name, its address and your quota", "%s: %v", name, err)
		}
		if r := ev.Result; r != nil {
			return fine("call", "%s answered %q (%d tokens, %s)",
				name, said(r.Content), r.Usage.Total(), time.Since(begun).Round(time.Millisecond))
		}
	}
	return bad("call", "try again", "%s: the answer ended without a result", name)
}

// said is the beginning of what an answer says.
func said(c *genai.Content) string {
	const most = 60
	var b strings.Builder
	for _, part := range c.Parts {
		if !part.Thought {
			b.WriteString(part.Text)
		}
	}
	text := []rune(strings.TrimSpace(b.String()))
	return string(text[:min(most, len(text))])
}

// gates tells which gates a run would have, and whether their programs are there. They are not run.
func (d *doctor) gates(ctx context.Context, p spec.Project) []finding {
	how := "configured"
	if len(p.Gates) == 0 {
		how = "detected"
		var err error
		if p.Gates, err = d.detected(ctx, p); errors.Is(err, git.ErrNotRepository) {
			return []finding{warn("gates", "name one with --repo", "%s is no git repository: nothing to work on", top(d.repo))}
		} else if err != nil {
			return []finding{bad("gates", hintFor(err), "%v", err)}
		}
	}
	if len(p.Gates) == 0 {
		return []finding{warn("gates", "name your build and tests in .divisi/divisi.yaml: docs/project.md",
			"none are configured, and none could be detected: nothing would be proven before it lands")}
	}
	found := make([]finding, 0, len(p.Gates)+1)
	for _, g := range p.Gates {
		found = append(found, d.gate(g, how, len(p.Setup) > 0))
	}
	if len(p.Setup) > 0 {
		found = append(found, d.gate(spec.Gate{Name: "setup", Command: p.Setup}, how, false))
	}
	return found
}

func (d *doctor) gate(g spec.Gate, how string, setup bool) finding {
	program := g.Command[0]
	path, err := exec.LookPath(program)
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		path, err = exec.LookPath(filepath.Join(top(d.repo), program))
	}
	what := fmt.Sprintf("%s (%s): %s", g.Name, how, strings.Join(g.Command, " "))
	switch {
	case err == nil:
		return fine("gates", "%s; %s is %s", what, program, path)
	case setup:
		return warn("gates", "see that setup brings it", "%s; the program %s was not found", what, program)
	}
	return bad("gates", "install "+program+", or put it on your PATH; setup can bring it too: docs/project.md",
		"%s; the program %s was not found", what, program)
}

// detected are the gates of the commit that is checked out, found as a run finds them.
func (d *doctor) detected(ctx context.Context, p spec.Project) (gates []spec.Gate, err error) {
	g, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	checkout, err := g.Inspect(ctx, d.repo)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "divisi-doctor-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	h := &holder{g: d.globals, git: g, checkout: checkout, spec: run.Spec{Project: p, Base: checkout.Head}}
	if h.mirror, err = g.CreateMirror(ctx, filepath.Join(tmp, "repo.git"), checkout, checkout.Head); err != nil {
		return nil, err
	}
	if err := h.findGates(ctx); err != nil {
		return nil, err
	}
	return h.spec.Project.Gates, nil
}

// mostRuns bounds how many runs are looked at, the newest first.
const mostRuns = 50

// leftovers are runs that nobody carries out any more and that did not end in order.
func (d *doctor) leftovers(ctx context.Context) []finding {
	ids, err := d.store().IDs()
	if err != nil {
		return []finding{bad("runs", "choose a directory that you can read with --state-dir", "%v", err)}
	}
	var found []finding
	if left := d.left(); len(left) > 0 {
		found = append(found, warn("runs", "divisi runs rm --leftovers",
			"demos, dry runs or killed processes left %d directories, such as %s", len(left), left[0]))
	}
	held := 0
	for _, id := range ids[:min(len(ids), mostRuns)] {
		f, alive := d.leftover(ctx, id)
		if alive {
			held++
		}
		if f.Status != "" {
			found = append(found, f)
		}
	}
	if len(found) > 0 {
		return found
	}
	seen := fmt.Sprintf("%d in %s, %d active; none was left behind", len(ids), d.store().Runs(), held)
	if len(ids) > mostRuns {
		seen += fmt.Sprintf(" among the newest %d", mostRuns)
	}
	return []finding{fine("runs", "%s", seen)}
}

func (d *doctor) leftover(ctx context.Context, id string) (f finding, alive bool) {
	if _, ended := d.store().Summary(id); ended {
		return finding{}, false
	}
	b, err := bus.Attach(d.log.WithContext(ctx), d.store().Bus(id))
	if err == nil {
		d.store().Close(b)
		return finding{}, true
	}
	if !errors.Is(err, bus.ErrNoHolder) {
		return warn("runs", "wait a moment and look again", "run %s: %v", id, err), false
	}
	if _, err := store.ReadMeta(d.store().Run(id)); errors.As(err, new(*usageError)) {
		return warn("runs", "if nothing begins now, remove it: divisi runs rm "+id,
			"run %s never began, or begins just now", id), false
	}
	st, _, err := d.store().State(ctx, id)
	switch {
	case err != nil:
		return warn("runs", "look at it with divisi show "+id, "run %s cannot be read: %v", id, errorLine(err)), false
	case !st.Status.Ended():
		return warn("runs", fmt.Sprintf("resume it: divisi resume %s; or end it: divisi cancel %s", id, id),
			"the process of run %s was killed", id), false
	}
	return finding{}, false
}
