package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/bus"
	"divisi/internal/spec"
)

// maxDecode bounds a setup or an order, in bytes: a plan of thousands of tasks takes a few MiB.
const maxDecode = 64 << 20

// Setup is the input of the working half of a run, beside its machine: the conducting half seals it each time that it begins, and
// a run event names it.
type Setup struct {
	Run string `json:"run"`
	// Key is the public key that the conductor signs assignments with. Warrant is the signature of the person who began the run;
	// nil where that has no login.
	Key     []byte   `json:"key,omitempty"`
	Warrant *Warrant `json:"warrant,omitempty"`
	// Base is the commit that the run starts from.
	Base string `json:"base"`
	// Created is when the run was created: commits that trees are proven on have that day.
	Created time.Time `json:"created,omitzero"`
	// Name is the name of the repository's directory where the run was submitted.
	Name string `json:"name,omitempty"`
	// Caches is the name of the directory, one for each repository, of build caches and environments.
	Caches string `json:"caches"`
	// Project has the tools of setup, the gates and the limits; Roles are all roles.
	Project spec.Project         `json:"project"`
	Roles   map[string]spec.Role `json:"roles"`
	// Commands are those of tasks that a person has signed; see Mandate.
	Commands [][]string `json:"commands,omitempty"`
	// Plan has the tasks, and with them the models that the run can come to call; nil where a master plans.
	Plan *spec.Plan `json:"plan,omitempty"`
	// Environment is the id of what was taken from the checkout, Beside the digest of what trees have of it beside the files that
	// git stores; empty for nothing.
	Environment string `json:"environment,omitempty"`
	Beside      string `json:"beside,omitempty"`
	// Lends is the system that the environment was taken on, where the conducting half gives it to workers that lack it.
	Lends string `json:"lends,omitempty"`
	// Content is the digest of the manifest of what that environment has.
	Content string `json:"content,omitempty"`
	// Exclude are the lists of what git ignores that the base commit does not have; Memory reports whether the repository has
	// one.
	Exclude []byte `json:"exclude,omitempty"`
	// Refs are the names of branches in trees, Past is the history that these have; nil for none.
	Refs   Refs  `json:"refs,omitzero"`
	Past   *Past `json:"past,omitempty"`
	Memory bool  `json:"memory,omitempty"`
	// Strict has commands run only where they can be fully confined.
	Strict bool `json:"strict,omitempty"`
	// Parallel is how many agents work at once; Budget limits the run, and Spent is what is used of it already.
	Parallel int         `json:"parallel"`
	Budget   spec.Budget `json:"budget,omitzero"`
	Spent    int64       `json:"spent,omitempty" maximum:"1000000000000000000"`
	// Quotas are the rate limits that services reported, by model and account.
	Quotas map[string]spec.Wait `json:"quotas,omitempty"`
}

// Wants reports whether tasks of a role can come: all roles where a master plans, else those of the plan, with those that judge
// its patches, and gates.
func (s *Setup) Wants(role string) bool {
	return s.Plan == nil || role == spec.RoleTester || slices.ContainsFunc(s.Plan.Tasks, func(t spec.Task) bool {
		return role == t.Role || role == t.Verify || role == spec.RoleReviewer && len(t.Constraints)+len(s.Plan.Constraints) > 0
	})
}

// IsCommit reports whether a text is the id of a commit.
func IsCommit(id string) bool {
	return (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == ""
}

// check refuses a setup that is another run's, or that names what would lie outside of the directories of a worker.
func (s *Setup) check(run string) error {
	switch {
	case s.Run != run:
		return fmt.Errorf("it is of run %.80q", s.Run)
	case !IsCommit(s.Base):
		return fmt.Errorf("base %.80q is no commit", s.Base)
	case !bus.ValidToken(s.Caches):
		return fmt.Errorf("caches %.80q is no name of a directory", s.Caches)
	case s.Environment != "" && !bus.ValidToken(s.Environment):
		return fmt.Errorf("environment %.80q is no id", s.Environment)
	case s.Parallel < 0 || s.Budget.Amount < 0 || s.Spent < 0:
		return errors.New("a limit is negative")
	}
	for name := range s.Roles {
		if !bus.ValidToken(name) {
			return fmt.Errorf("%.80q is no name of a role", name)
		}
	}
	return nil
}
