package conduct

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// Retry is an act that tries tasks again, with what else it reads here.
type Retry struct {
	act.Retry

	Repo string // where the repository is now; "" for where it was
	// RoleFile is a role that is read beside the others, and then the tasks' where Role names none.
	RoleFile *File

	// Trust decides, as that of Options, about what the files of the repository request now; repo is its checkout.
	Trust func(ctx context.Context, repo string, requests []string) (bool, error)
	// Resume is how the run continues afterwards. What Resume would refuse then is refused before anything is written.
	Resume ResumeOptions
}

// TryAgain opens tasks again that were given up. Roles and settings are read again from the files that they came from.
func TryAgain(ctx context.Context, r *client.Run, o Retry) (out act.Outcome, err error) {
	st, err := r.Dir.Fold(ctx, r.At.Log().Bus, r.Name)
	if err != nil {
		return out, err
	}
	if _, err := client.AsMistake("", o.Retriable(st)); err != nil {
		return out, err
	}
	if o.Forgotten && o.Model != "" {
		return out, usage.Errorf("the task for a forgotten file has the model of its role: name a role")
	}
	if !r.Sent {
		out.Notes, err = o.reread(ctx, r, st)
	} else if o.RoleFile != nil || o.Repo != "" {
		err = usage.Errorf("run %s was submitted, and keeps the roles and settings of that moment", r.Name)
	}
	if err != nil {
		return act.Outcome{}, err
	}
	done, err := r.Act(ctx, o.Retry)
	done.Changed, done.Notes = o.Changed.Notices, out.Notes
	return done, err
}

// reread reads the files of roles and of the project, adds what has changed since the run read them, and returns notes. What it
// adds may do no more than a new run of these files.
func (o *Retry) reread(ctx context.Context, r *client.Run, st *run.State) (notes []string, err error) {
	m, err := store.ReadMeta(r.Dir.Run(r.Name))
	if err != nil {
		return nil, err
	}
	h := &Half{Place: depot.Place{Dir: r.Dir, Log: r.Dir.Log}, Path: r.Dir.Run(r.Name), Spec: st.Spec}
	if h.Git, err = git.New(ctx); err != nil {
		return nil, err
	}
	if err := h.openRepositories(ctx, o.Repo, m); err != nil {
		return nil, err
	}
	if rest, ok := r.At.(*client.Rest); ok {
		rest.Trees = h.Tree
	}
	set, found, err := h.readAgain(st, o, m.Project)
	var broken []string
	if err == nil {
		broken, err = brokenAgain(st, set, st.Spec.Plan, o.Role)
	}
	if err == nil {
		err = errors.Join(h.findCaches(m.Demo), o.compare(r, st, set.Roles, &found.Project))
	}
	if err == nil {
		err = h.trustAgain(ctx, set.Repository, found, o)
	}
	_, had := st.Spec.Roles[o.Role]
	_, now := o.Changed.Roles[o.Role]
	switch {
	case err != nil:
		return nil, err
	case o.Role != "" && !had && !now:
		how := "name one of its roles, or a role file (*.md)"
		if !r.NotRunning() {
			how = "a new role file takes effect in a run that no process carries out"
		}
		return nil, usage.Errorf("run %s has no role %q%s; %s", r.Name, o.Role,
			near(o.Role, slices.Collect(maps.Keys(st.Spec.Roles))), how)
	}
	if notes, err = h.programs().Stale(ctx, st, &o.Retry); err != nil {
		return nil, err
	}
	notes = append(notes, broken...)
	if !o.Forgotten { // that adds nothing else
		err = o.rereadPlan(r, st, m.Plan, set)
	}
	if err != nil || !r.NotRunning() {
		return notes, err
	}
	return notes, h.goesOn(ctx, st, o)
}

// trustAgain has a person decide about what the files of the repository request now, as a new run does.
func (h *Half) trustAgain(ctx context.Context, roles map[string]spec.Role, s *needs.Settings, o *Retry) error {
	requests, err := needs.Requests(ctx, h.Checkout, s, roles)
	if err != nil {
		return err
	}
	if _, err := h.Dir.Decisions(h.Checkout); err != nil {
		return err
	}
	var decide func(context.Context, []string) (bool, error)
	if o.Trust != nil {
		decide = func(ctx context.Context, requests []string) (bool, error) {
			return o.Trust(ctx, h.Checkout.Top, requests)
		}
	}
	return h.trust(ctx, decide, requests)
}

// goesOn returns why the run could not continue with what a retry changes.
func (h *Half) goesOn(ctx context.Context, st *run.State, o *Retry) error {
	q := &o.Changed
	if err := allowed(st, &o.Resume); err != nil {
		return err
	}
	s := st.Spec
	s.Roles = maps.Clone(s.Roles)
	maps.Copy(s.Roles, q.Roles)
	s.Project, s.Plan = *cmp.Or(q.Project, &s.Project), cmp.Or(q.Plan, revised(st))
	if s.Plan != nil && o.Role != "" {
		p := *s.Plan
		p.Tasks = append(slices.Clone(p.Tasks), spec.Task{Role: o.Role})
		s.Plan = &p
	}
	return needs.Check(ctx, &s, o.Resume.Replay, needs.Login(h.Dir, h.Checkout, &s))
}

// near suggests a known name.
func near(name string, known []string) string {
	if n := spec.Nearest(name, known); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// readAgain reads the roles of a repository, and those that a person names by their files, or had named: of a role that is in the
// run alone, only such a file is read. One that is no longer there leaves its role as it is. A project file that a person had
// named has to be there; where it lies in the repository a pull can have changed it, and what it requests is asked about.
func (h *Half) readAgain(st *run.State, o *Retry, project string) (set configs.RoleSet, p *needs.Settings, err error) {
	top, had := h.Checkout.Top, st.Spec.Roles
	var named []configs.File
	for _, name := range slices.Sorted(maps.Keys(had)) {
		info, err := os.Stat(had[name].Named)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		read, err := configs.Read(had[name].Named)
		if err != nil {
			return set, p, err
		}
		named = append(named, read...)
	}
	var given spec.Role
	if o.RoleFile != nil {
		file := configs.File{Name: o.RoleFile.Name, Text: string(o.RoleFile.Data)}
		if given, err = configs.ParseRole(file.Name, file.Text); err != nil {
			return set, p, err
		}
		o.Role, named = cmp.Or(o.Role, given.Name), append(named, file)
	}
	if set, p, err = h.filesAgain(named, project); err != nil {
		return set, p, err
	}
	for name, was := range had {
		if was.Named != "" && set.Roles[name].Named == "" {
			delete(set.Roles, name)
		}
	}
	for name, now := range set.Roles {
		was := had[name]
		if now.Named != "" && now.Named == was.Named {
			now.Source = was.Source // as the person wrote it
			set.Roles[name] = now
		}
		if now.Named != "" && given.Name != name && pulled(top, was, now) {
			return set, p, usage.With(usage.Errorf("%s has changed, and a pull can have changed it: it lies in the repository. "+
				"Its role %s has secrets, or other requests that need your yes\n"+
				"Read it, then name it again for the tasks of the role", now.Named, name), usage.Role, st.Spec.Run, now.Named)
		}
	}
	for _, s := range set.Skipped {
		if _, is := set.Roles[s.Role]; !is && wanted(st, s.Role) {
			return set, p, usage.Errorf("%s was not loaded as a role: %s", s.File, s.Why)
		}
	}
	return set, p, nil
}

// filesAgain reads the project and the roles of a repository; project is the path of the file that a person had named for it.
func (h *Half) filesAgain(roles []configs.File, project string) (configs.RoleSet, *needs.Settings, error) {
	if project == "" {
		return needs.Files(h.Dir, h.Checkout, roles, nil)
	}
	read, err := configs.Read(project)
	if err != nil {
		return configs.RoleSet{}, nil, err
	}
	set, s, err := needs.Files(h.Dir, h.Checkout, roles, &read[0])
	if err == nil {
		s.Own = !git.Inside(project, h.Checkout.Top)
	}
	return set, s, err
}

// brokenAgain refuses a retry that needs a role whose file is wrong, as a new run of the plan is refused, and returns notices
// about other files. Tasks that the run has besides those of its plan, and the role that they are to have, count as well.
func brokenAgain(st *run.State, set configs.RoleSet, plan *spec.Plan, role string) ([]string, error) {
	s := st.Spec
	s.Roles = maps.Clone(s.Roles)
	maps.Copy(s.Roles, set.Roles)
	if s.Plan = plan; plan == nil { // the master can name what is built in
		if _, err := needs.Broken(&s, set.Broken); err != nil {
			return nil, err
		}
		s.Plan = &spec.Plan{}
	}
	p := *s.Plan
	p.Tasks = slices.Clone(p.Tasks)
	for t := range st.Tasks.All() {
		p.Tasks = append(p.Tasks, t.Task)
	}
	if role != "" {
		p.Tasks = append(p.Tasks, spec.Task{Role: role})
	}
	s.Plan = &p
	return needs.Broken(&s, set.Broken)
}

// wanted reports whether a task has a role.
func wanted(st *run.State, role string) bool {
	return slices.ContainsFunc(st.Tasks.Order, func(id string) bool { return st.Tasks.ByID[id].Task.Role == role })
}

// pulled reports whether a file of the repository that a person had named is another one now, with more than any role of the
// repository may do unasked: the person named what it was.
func pulled(top string, was, now spec.Role) bool {
	return needs.More(now) && git.Inside(now.Named, top) && len(differs(was, now)) > 0
}

// rereadPlan adds the plan file, where a person has edited it since the run read it. One that is no longer there has
// changed nothing.
func (o *Retry) rereadPlan(r *client.Run, st *run.State, path string, set configs.RoleSet) error {
	q := &o.Changed
	info, err := os.Stat(path)
	if st.Spec.Plan == nil || err != nil || !info.Mode().IsRegular() {
		return nil
	}
	read, err := configs.Read(path)
	if err != nil {
		return err
	}
	p, positions, _ := configs.ParsePlan(read[0].Name, read[0].Text) // positions have its faults
	fields := differs(st.Spec.Plan, p)
	if len(fields) == 0 && positions.Error(nil) == nil {
		return nil
	}
	if _, err := brokenAgain(st, set, &p, ""); err != nil {
		return err
	}
	roles := maps.Clone(st.Spec.Roles)
	maps.Copy(roles, q.Roles)
	problems := p.Validate(spec.Env{Roles: roles, Gates: depot.GateNames(st.Spec.Project)})
	if err := positions.Error(append(problems, needs.Skipped(p, set.Skipped)...)); err != nil {
		return err
	}
	q.Plan = &p
	q.Notices = append(q.Notices, "the plan file has changed: the tasks that are tried again get their briefs, roles, files, "+
		"commands, constraints and dependencies from it, also those that have not begun, and new tasks are added; other "+
		"changes take effect in another run")
	if !r.NotRunning() && slices.ContainsFunc(p.Tasks, func(t spec.Task) bool { return !named(st.Spec.Plan, t.Role) }) {
		return stopFirst(r, "the plan file names a role that it did not name before")
	}
	return nil
}

// named reports whether a task of a plan has a role.
func named(p *spec.Plan, role string) bool {
	return slices.ContainsFunc(p.Tasks, func(t spec.Task) bool { return t.Role == role })
}

// compare adds what differs from the run's roles and project. Gates and what they run in stay: their baseline was
// taken with them.
func (o *Retry) compare(r *client.Run, st *run.State, roles map[string]spec.Role, p *spec.Project) error {
	q := &o.Changed
	q.Roles = map[string]spec.Role{}
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		had, role := st.Spec.Roles[name], roles[name]
		fields := differs(had, role)
		switch {
		case len(fields) == 0 || had.Name == "" && !r.NotRunning(): // nothing can name a new one yet
			continue
		case had.Name == "":
			q.Notices = append(q.Notices, fmt.Sprintf("role %s is new", name))
		default:
			q.Notices = append(q.Notices, fmt.Sprintf("role %s has changed: %s", name, text.Some(fields, maxFields)))
		}
		if !r.NotRunning() && slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(connected, f) }) {
			return stopFirst(r, q.Notices[len(q.Notices)-1])
		}
		q.Roles[name] = role
	}
	for _, name := range slices.Sorted(maps.Keys(st.Spec.Roles)) {
		if _, is := roles[name]; !is && wanted(st, name) {
			q.Notices = append(q.Notices, fmt.Sprintf("role %s stays as it was: its file is gone, or the log does not tell that "+
				"you named it; name its file", name))
		}
	}
	now := st.Spec.Project
	now.Models, now.MCPServers, now.Protected, now.Limits = p.Models, p.MCPServers, p.Protected, p.Limits
	now.Delegation, now.ModelOutage, now.Commits = p.Delegation, p.ModelOutage, p.Commits
	now.BudgetDay, now.QuotaWait = p.BudgetDay, p.QuotaWait
	now.ToolOutput, now.Summaries = p.ToolOutput, p.Summaries
	if fields := differs(st.Spec.Project, now); len(fields) > 0 {
		q.Notices = append(q.Notices, "the project file has changed: "+text.Some(fields, maxFields))
		if q.Project = &now; !r.NotRunning() {
			return stopFirst(r, q.Notices[len(q.Notices)-1])
		}
	}
	return nil
}

// connected are the fields of a role for which a process connects, or asks a person, when it begins to carry a run out.
var connected = []string{
	"executor", "chain", "model", "fallback", "tier", "mcp_servers", "network", "loopback", "secrets",
}

// maxFields bounds the fields that a notice names.
const maxFields = 12

func stopFirst(r *client.Run, what string) error {
	err := usage.Errorf("%s; the process that carries run %s out cannot change that: stop it, then retry", what, r.Name)
	return usage.With(err, usage.Running, r.Name)
}

// differs names the fields, in JSON, in which two values differ.
func differs(a, b any) (fields []string) {
	of := func(v any) (m map[string]json.RawMessage) {
		data, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil {
			panic(fmt.Sprintf("encode a %T: %v", v, err)) // it was read from a file
		}
		return m
	}
	x, y := of(a), of(b)
	for field := range maps.Keys(y) {
		if _, both := x[field]; !both {
			x[field] = nil
		}
	}
	for _, field := range slices.Sorted(maps.Keys(x)) {
		if !bytes.Equal(x[field], y[field]) {
			fields = append(fields, field)
		}
	}
	return fields
}
