package run

import (
	"time"

	"divisi/internal/spec"
)

// Branch is the integration branch: what has landed on it, what gates found, and the workers on whose word it stands.
type Branch struct {
	// Head is the integration commit. Published is the commit that Ref was put at.
	Head, Ref, Published string
	Batches              Batches
	Proofs               Proofs
	Final                []spec.Receipt
	// Missing are the tests of the base commit that did not run in the final gates, one sentence a gate.
	Missing []string
	// Unverified is why nothing that lands is proven, or at the end not all of it, in the words of the log; empty before the
	// baseline.
	Unverified string
	// Crew are the workers elsewhere, Away has what the machines of others lack; Unserved are the roles that none serves.
	Crew     Crew
	Away     map[string]string
	Unserved map[string]Unserved
	// Joined is when each worker that the present conductor knows came; those of the run's own process come with their first
	// attempt.
	Joined map[string]time.Time
	// Quarantines are the workers in quarantine, by name.
	Quarantines map[string]*Quarantine
}

func newBranch() Branch {
	return Branch{
		Batches: Batches{Gone: map[string]string{}}, Proofs: newProofs(), Joined: map[string]time.Time{},
		Quarantines: map[string]*Quarantine{},
	}
}
