package member

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/internal/usage"
)

const (
	maxUses = 1000
	maxLife = 30 * 24 * time.Hour
	maxTags = 20
)

// Admission is what a token admits.
type Admission struct {
	Role Role
	// Name is the only one that a member can have; empty for any.
	Name string
	// Uses is how many members it admits, 0 for one; Life how long, 0 for ten minutes.
	Uses int
	Life time.Duration
	// Tags are those of each worker that joins.
	Tags []string
	// Raw is that of each viewer that joins.
	Raw bool
	// Replaces gives the member of Name another key: Role, Tags and Raw are those that it has. The key before is good until the
	// token is used.
	Replaces bool
}

// reserved stand for others than members where it is said who did something, or for all.
var reserved = []string{
	local, "operator", "unknown", JoinUser, HostName, "conductor", "master", "worker", "person", "viewer", "server", "policy",
	"all", "divisi",
}

// admissible accepts a name that a new member can have. Members of before keep theirs.
func admissible(name string) error {
	if slices.Contains(reserved, strings.ToLower(name)) {
		return fmt.Errorf("%s does not name a member: choose another name", name)
	}
	if err := validName(name); err != nil {
		return err
	}
	if !isToken(strings.Trim(name[:1], "-_")) {
		return fmt.Errorf("the name of a member begins with a letter or a digit, and %q does not: a command would see an option",
			name)
	}
	return nil
}

func (a *Admission) check() error {
	switch {
	case !a.Role.joins():
		return usage.Errorf("no token admits a member of the role %q: choose %s, %s or %s", a.Role, Worker, Person, Viewer)
	case a.Uses < 0 || a.Uses > maxUses:
		return usage.Errorf("a token admits 1 to %d members, not %d", maxUses, a.Uses)
	case a.Uses > 1 && a.Name != "":
		return usage.Errorf("a token for %d members cannot have one name for them: %s", a.Uses, a.Name)
	case a.Life < 0 || a.Life > maxLife:
		return usage.Errorf("a token lives at most %s, not %s", maxLife, a.Life)
	case len(a.Tags) > 0 && a.Role != Worker:
		return usage.Errorf("tags are for workers: a %s takes no tasks", a.Role)
	case a.Raw && a.Role != Viewer:
		return usage.Errorf("raw output is granted to viewers: a %s needs no grant", a.Role)
	case len(a.Tags) > maxTags:
		return usage.Errorf("a worker has at most %d tags of its token, not %d", maxTags, len(a.Tags))
	}
	for _, tag := range a.Tags {
		if !isToken(tag) {
			return usage.Errorf("%.80q is no tag: letters, digits, - and _", tag)
		}
	}
	if a.Name != "" && !a.Replaces {
		if err := admissible(a.Name); err != nil {
			return fmt.Errorf("%w: %w", ErrName, err)
		}
	}
	return nil
}
