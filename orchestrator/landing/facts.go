package landing

import "divisi/orchestrator/run"

// facts are the parts of a run's state that decide what lands. They are those of the state and no copies: what is proposed once
// something was merged or read finds them as they are then.
type facts struct {
	tasks     *run.Tasks
	works     run.Works
	proofs    *run.Proofs
	templates *run.Templates
	batches   *run.Batches
	spec      *run.Spec
	crew      run.Crew
}

func factsOf(s *run.State) facts {
	return facts{
		tasks: &s.Tasks, works: s.Works, proofs: &s.Proofs, templates: &s.Templates, batches: &s.Batches, spec: &s.Spec,
		crew: s.Crew,
	}
}
