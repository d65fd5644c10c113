package depot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/call"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
)

// SealedOrder is the kind of orders: their names begin with it.
const SealedOrder = "order"

// Order describes a run that another machine conducts: all that was learnt from the checkout. It is an object of the run, and its
// name has its digest.
type Order struct {
	// Spec names the repository for people only: nothing is read from there.
	Spec     run.Spec `json:"spec"`
	PackSent          // of the base commit
	// Modules are the submodules of the base commit that travel, Contents what Git LFS keeps of it: objects of the cache, unless
	// the host has them.
	Modules  []ModuleSent   `json:"modules,omitempty"`
	Contents []spec.Pointer `json:"contents,omitempty"`
	// Environment holds ignored paths of the checkout; nil for nothing.
	Environment *call.Environment `json:"environment,omitempty"`
	// Roots are the commits that the history of the base begins with, where it ends in a shallow clone; see cachesOf.
	Roots []string `json:"roots,omitempty"`
	// Named is how earlier versions named the directory of the repository's build caches. It is not used.
	Named string `json:"caches,omitempty"`
	// Exclude are the lists of what git ignores that the base commit does not have.
	Exclude []byte `json:"exclude,omitempty"`
	// Refs are the names of branches in trees.
	Refs git.Refs `json:"refs,omitzero"`
	// Past is the history that trees have; nil for none.
	Past *PastSent `json:"past,omitempty"`
	// Strict has commands run only where they can be fully confined.
	Strict  bool     `json:"strict,omitempty"`
	Notices []string `json:"notices,omitempty"`
	// Warrant is the signature of who submits it; nil for who has no login.
	Warrant *wire.Warrant `json:"warrant,omitempty"`
}

// Mandate bounds the requests of the run to workers.
func (o *Order) Mandate() wire.Mandate {
	s := &o.Spec
	m := wire.Mandate{
		Run: s.Run, Base: s.Base, Name: wire.RepositoryName(s.Repo), Project: s.Project, Roles: s.Roles,
		Environment: s.Environment,
	}
	m.Commands = wire.Commands(s.Plan, s.Roles)
	if o.Environment != nil {
		m.Content = o.Environment.Content
	}
	return m
}

// Sign has the person who logs in to a server vouch for the run; nil for who has no login.
func (o *Order) Sign(at Server) (*wire.Warrant, error) {
	s, err := store.Server(at).Options()
	if err != nil || s.Login == nil {
		return nil, err
	}
	return o.Mandate().Sign(s.Login)
}

// PackSent is the sealed object of the cache, of Size bytes, that has what a repository lacks of a commit which has the commits
// in Have.
type PackSent struct {
	Pack string   `json:"pack"`
	Size int64    `json:"size"`
	Have []string `json:"have,omitempty"`
}

// ModuleSent is a submodule at a place of the tree.
type ModuleSent struct {
	Place  string `json:"place"`
	Commit string `json:"commit"`
	PackSent
}

// PastSent is the history of the base.
type PastSent struct {
	wire.Past
	PackSent
}

// Git is the history as package git has it, without a place.
func (p *PastSent) Git() git.Past { return git.Past{Tags: p.Tags, Shallow: p.Shallow} }

// check refuses what is no pack of commits, without more than most.
func (p *PackSent) check(most int) error {
	if len(p.Have) > most || slices.ContainsFunc(p.Have, func(id string) bool { return !wire.IsCommit(id) }) {
		return fmt.Errorf("the pack is without %d commits, such as %.80q", len(p.Have), p.Have[0])
	}
	return nil
}

// travels refuses what else comes with the base commit where it lies outside of the tree, or is too much.
func (o *Order) travels() error {
	for i := range o.Modules {
		m := &o.Modules[i]
		if !fs.ValidPath(m.Place) || m.Place == "." || len(m.Place) > maxRepo || !wire.IsCommit(m.Commit) {
			return fmt.Errorf("%.80q at %.80q is no submodule", m.Commit, m.Place)
		}
		if err := m.check(git.MaxKept); err != nil {
			return err
		}
	}
	if o.Past != nil {
		if err := errors.Join(o.Past.Git().Check(o.Spec.Base), o.Past.check(git.MaxTips)); err != nil {
			return err
		}
	}
	for _, p := range o.Contents {
		if !IsContent(p.OID) {
			return fmt.Errorf("%.80q is no content of Git LFS", p.OID)
		}
	}
	return Lendable(len(o.Modules), o.Contents)
}

// IsContent reports whether a text is the id of what Git LFS keeps.
func IsContent(oid string) bool { return len(oid) == 64 && wire.IsCommit(oid) }

// Seal returns the order as it is stored, and its name.
func (o *Order) Seal() (name string, data []byte, err error) {
	if data, err = json.Marshal(o); err != nil {
		return "", nil, fmt.Errorf("encode the order of run %s: %w", o.Spec.Run, err)
	}
	return wire.Name(SealedOrder, data), data, nil
}

// UnsealOrder reads the order of a run. One that is not the object of its name, is another run's, has fields that this program
// does not know, or has what no file may have is wire.ErrSeal.
func UnsealOrder(ctx context.Context, objects wire.Objects, id, name string) (*Order, error) {
	data, err := wire.Open(ctx, objects, SealedOrder, name)
	if err != nil {
		return nil, err
	}
	o := &Order{}
	if err = wire.Decode(data, o); err == nil {
		err = o.check(id)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the order of run %s, %.80s: %w", wire.ErrSeal, id, name, err)
	}
	return o, nil
}

// maxRepo bounds the name of a repository.
const maxRepo = 4096

// check refuses an order that the checks of a new run on the machine with the checkout would have refused, and what would lie
// outside of the run's directories.
func (o *Order) check(id string) error {
	s := &o.Spec
	switch {
	case s.Run != id:
		return fmt.Errorf("it is of run %.80q", s.Run)
	case store.NewID(s.Created) != id:
		return fmt.Errorf("no run that was made at %s is called %.80q", s.Created, id)
	case !wire.IsCommit(s.Base):
		return fmt.Errorf("base %.80q is no commit", s.Base)
	case len(s.Repo) > maxRepo:
		return fmt.Errorf("the name of the repository has %d bytes", len(s.Repo))
	case o.Environment == nil && (s.Environment != "" || !s.Project.Environment.IsZero()):
		return errors.New("it takes an environment from a checkout")
	case o.Environment != nil && (o.Environment.ID != s.Environment || !bus.ValidToken(s.Environment) ||
		s.Project.Environment.IsZero()):
		return fmt.Errorf("it comes with the environment %.80q, which the run does not take", o.Environment.ID)
	case s.Outputs != "" || len(s.Keys) > 0:
		return errors.New("it names things that the conducting machine chooses")
	case s.Parallel < 1 || s.Parallel > MaxParallel || s.Budget.Amount < 0:
		return fmt.Errorf("parallel %d or budget %s is out of bounds", s.Parallel, s.Budget)
	case s.OnDoubt != "" && !slices.Contains(run.OnDoubts, s.OnDoubt):
		return fmt.Errorf("on_doubt %.80q is not known", s.OnDoubt)
	case s.Plan == nil && s.Goal == "":
		return errors.New("it has neither a goal nor a plan")
	}
	return errors.Join(CheckRoots(o.Roots), o.PackSent.check(git.MaxKept), o.travels(), o.faults())
}

// faults validates what files tell: project, roles and plan.
func (o *Order) faults() error {
	s := &o.Spec
	problems := s.Project.Validate()
	for name, role := range s.Roles {
		if role.Name != name {
			return fmt.Errorf("role %.80q is called %.80q", name, role.Name)
		}
		problems = append(problems, role.Validate(spec.Env{Roles: s.Roles})...)
	}
	if s.Plan != nil && !s.Trial {
		problems = append(problems, s.Plan.Validate(spec.Env{Roles: s.Roles, Gates: GateNames(s.Project)})...)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d faults, such as %.300s", len(problems), problems[0])
	}
	return nil
}

// GateNames lists the gates of a project file; nil when they are still to be detected.
func GateNames(p spec.Project) (names []string) {
	for _, g := range p.Gates {
		names = append(names, g.Name)
	}
	return names
}
