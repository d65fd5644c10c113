package needs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/trust"
	"divisi/orchestrator/settings"
	"divisi/orchestrator/store"
)

// Trust holds the permission requests of a repository's files, and whether a person agreed to them.
type Trust struct {
	Repo     string   // its top
	Found    bool     // it is a repository that can be read
	Requests []string // with what this machine cannot keep from them
	Trusted  bool     // nothing is requested, or a person agreed to exactly this
	Agreed   time.Time
	Changes  []string // since Agreed, + and -, where it was to another list
	Exposed  bool     // what has the network reaches every service of this machine
	Fault    error    // why no decision can be read, which then counts as none
	store    *trust.Store
	// login is what is agreed to with the requests, for runs that a person starts too, kept at a place of its own.
	login []string
	kept  *trust.Store
	// Settings are the project; nil where requests were given.
	Settings *settings.Settings
}

// TrustOf compares what the files of the repository at dir request with the decision about it in the state directory. Where
// requests are given, they are compared; named is a project file that the person names, nil for none. An error of the files
// leaves requests out; what there is of them is returned with it.
func TrustOf(ctx context.Context, stateDir, dir string, requests []string, named *configs.File) (*Trust, error) {
	t := &Trust{Repo: dir, Requests: requests}
	g, err := git.New(ctx)
	if err != nil {
		return t, err
	}
	checkout, inspected := g.Inspect(ctx, dir)
	state := store.Dir{Path: stateDir}
	if inspected == nil {
		t.Repo = checkout.Top
	}
	if requests == nil {
		set, rolesErr := configs.RolesWith(t.Repo, nil)
		s, projectErr := settings.Of(ctx, state, dir, named)
		if projectErr == nil {
			t.Requests, projectErr = Requests(ctx, checkout, s, set.Repository)
			t.Settings, err = s, set.Fit(&s.Project)
		}
		err = errors.Join(rolesErr, projectErr, err)
	}
	t.Exposed = strings.Contains(strings.Join(t.Requests, " "), "the network") && sandbox.Probe().HostNetwork()
	t.Trusted = len(t.Requests) == 0
	if t.Found = inspected == nil; !t.Found {
		t.Fault = inspected
		return t, err
	}
	t.store, t.Fault = state.Decisions(checkout)
	if t.Fault == nil && !t.Trusted {
		t.compare()
	}
	return t, err
}

// Unconfined lists the commands of a project that a twin runs. Where a run has changed them they are others.
func Unconfined(project *spec.Project, changed bool) []string {
	list := trust.Unconfined(project)
	if changed {
		list = append(list, "outside the sandbox, as you: what agents of the run have written by then")
	}
	return list
}

// TwinTrustOf is the same for commands that are to run outside the sandbox: a decision of its own, about them and what the files
// request.
func TwinTrustOf(ctx context.Context, stateDir, dir string, commands []string) (*Trust, error) {
	t, err := TrustOf(ctx, stateDir, dir, nil, nil)
	t.Requests = append(t.Requests, commands...)
	return t, errors.Join(err, t.about(trust.Twin))
}

// PinsTrustOf is the same for versions of programs that are not those which files of the repository name.
func PinsTrustOf(ctx context.Context, stateDir, dir string, conflicts []string) (*Trust, error) {
	t, err := TrustOf(ctx, stateDir, dir, conflicts, nil)
	return t, errors.Join(err, t.about(trust.Pins))
}

// RolesTrustOf is the same for role files and a coding agent that a program names for a run, and not a person.
func RolesTrustOf(ctx context.Context, stateDir, dir string, files []configs.File, agent string) (*Trust, error) {
	t := &Trust{Repo: dir, Found: true, Trusted: true}
	set, err := configs.RolesWith(dir, files)
	if err != nil {
		return t, err
	}
	maps.DeleteFunc(set.Roles, func(_ string, r spec.Role) bool { return r.Named == "" })
	granted, login := trust.Granted(set.Roles), []string(nil)
	if agent != "" {
		if err := UseAgent(&set, agent); err != nil {
			return t, err
		}
		secrets := set.Roles[spec.RoleGenerator].Secrets
		with := "the key in your variables " + strings.Join(secrets, " ")
		if kept := keptBy(agent, secrets); kept != nil {
			with = risk(agent, kept)
			login = []string{with}
		}
		granted = append(granted, fmt.Sprintf("the coding agent %s plans and does the work, with %s", agent, with))
	}
	if len(granted) == 0 {
		return t, nil
	}
	t, err = TrustOf(ctx, stateDir, dir, granted, nil)
	if t.store != nil && login != nil {
		t.login, t.kept = login, t.store.List(trust.Roles, login)
	}
	if t.store != nil {
		t.store = t.store.List(trust.Roles, granted)
	}
	return t, errors.Join(err, t.again())
}

// about compares the requests with the decision about another subject.
func (t *Trust) about(subject string) error {
	if t.store != nil {
		t.store = t.store.About(subject)
	}
	return t.again()
}

// again compares the requests with the decision of another place.
func (t *Trust) again() error {
	t.Trusted, t.Agreed, t.Changes = false, time.Time{}, nil
	if t.store != nil {
		t.compare()
	}
	return t.Fault
}

// compare compares the requests with the decision.
func (t *Trust) compare() {
	var earlier *trust.Decision
	if earlier, t.Fault = t.store.Read(); earlier != nil {
		t.Agreed, t.Changes, t.Trusted = earlier.Agreed, earlier.Changes(t.Requests), earlier.Covers(t.Requests)
	}
}

// Agree keeps the decision that a person agreed to the requests.
func (t *Trust) Agree() error {
	if t.store == nil {
		return t.Fault
	}
	d, err := t.store.Write(t.Requests, time.Now().UTC())
	if err == nil && t.login != nil {
		_, err = t.kept.Write(t.login, d.Agreed)
	}
	if err == nil {
		t.Trusted, t.Agreed = true, d.Agreed
	}
	return err
}

// Revoke forgets the decision, and reports whether there was one.
func (t *Trust) Revoke() (had bool, err error) {
	if t.store == nil {
		return false, t.Fault
	}
	return t.store.Forget()
}
