package twin

import (
	"context"
	"os"
	"slices"
	"strings"

	"divisi/internal/shim"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/trust"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
)

// Prove prepares the comparison of the head of a run with the user's own shell. A gate that needs a command to which no person
// has agreed is named, and does not run. A mirror has the head where the checkout does not; "" for none. doing is told what runs.
// The function that Prove returns can be called from another goroutine.
func Prove(
	s *run.State, state, mirror string, agreed []string, doing func(string),
) func(context.Context) (*run.Twin, error) {
	p := s.Spec.Project
	var refused []run.Difference
	p.Gates = slices.DeleteFunc(slices.Clone(p.Gates), func(g spec.Gate) bool {
		needed := trust.Unconfined(&spec.Project{Setup: p.Setup, Services: p.Services, Gates: []spec.Gate{g}})
		if len(without(needed, agreed)) == 0 {
			return false
		}
		refused = append(refused, run.Difference{
			Gate: g.Name, What: g.Name + ": not run outside the sandbox, because no person has agreed to its command",
		})
		return true
	})
	receipts := s.Final
	for _, g := range p.Gates {
		if r, ok := s.Proofs.Baseline[g.Name]; ok && s.Spec.Trial {
			receipts = append(receipts, r)
		}
	}
	o := Options{
		State: state, Repo: s.Spec.Repo, Base: s.Head, Mirror: mirror, Ref: run.IntegrationRef(s.Spec.Run),
		Setup: p.Setup.Command, Services: p.Services, Gates: p.Gates, Env: p.Env, Environ: os.Environ(),
		Confined: confined(s, receipts), Doing: doing,
	}
	return func(ctx context.Context) (found *run.Twin, err error) {
		if found = new(run.Twin); len(p.Gates) > 0 {
			found, err = Compare(ctx, o)
		}
		if err == nil {
			found.Differences = append(found.Differences, refused...)
		}
		return found, err
	}
}

// confined returns what setup and gates did in a run, by its setup and some receipts.
func confined(s *run.State, receipts []spec.Receipt) (outcomes []Outcome) {
	whole := func(object string) string {
		data, _ := os.ReadFile(recovery.OutputFile(&s.Spec, object)) // a green gate has none: its receipt has the end
		return text.End(string(data), maxOutput)
	}
	if r := s.Works.Settled(run.SetupTask); r != nil && r.Error != nil {
		output := r.Error.Message + "\n" + r.Error.Detail + "\n" + whole(r.Error.Output)
		outcomes = append(outcomes, Outcome{Gate: Setup, Exit: 1, Output: output})
	}
	for i := range receipts {
		r := &receipts[i]
		one := Of(r, whole(r.Output))
		words := shim.Words([][]string{r.Command})
		for _, line := range s.Spec.Programs {
			if name, _, _ := strings.Cut(line, " "); slices.Contains(words, name) {
				one.Programs = append(one.Programs, line)
			}
		}
		outcomes = append(outcomes, one)
	}
	return outcomes
}
