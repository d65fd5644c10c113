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

// Prove prepares the comparison of the head of a run, which a mirror has, with the user's own shell. A gate that needs a command
// to which no person has agreed is named, and does not run. What it returns can be called from another goroutine.
func Prove(s *run.State, state, mirror string, agreed []string) func(context.Context) (*run.Twin, error) {
	p, found := s.Spec.Project, &run.Twin{}
	p.Gates = slices.DeleteFunc(slices.Clone(p.Gates), func(g spec.Gate) bool {
		needed := trust.Unconfined(&spec.Project{Setup: p.Setup, Services: p.Services, Gates: []spec.Gate{g}})
		if len(without(needed, agreed)) == 0 {
			return false
		}
		found.Differences = append(found.Differences, run.Difference{
			What: g.Name + ": not run outside the sandbox, because no person has agreed to its command",
		})
		return true
	})
	if len(p.Gates) == 0 {
		return func(context.Context) (*run.Twin, error) { return found, nil }
	}
	o := Options{
		State: state, Repo: s.Spec.Repo, Base: s.Head, Mirror: mirror, Ref: run.IntegrationRef(s.Spec.Run),
		Setup: p.Setup.Command, Services: p.Services, Gates: p.Gates, Env: p.Env, Environ: os.Environ(),
		Confined: Confined(s, s.Final), Doing: func(string) {},
	}
	return func(ctx context.Context) (*run.Twin, error) {
		r, err := Compare(ctx, o)
		if err != nil {
			return nil, err
		}
		for i := range r.Differences {
			d := &r.Differences[i]
			found.Differences = append(found.Differences, run.Difference{What: d.String(), Do: d.Do})
		}
		if len(r.Skipped) > 0 {
			found.Differences = append(found.Differences, run.Difference{What: r.NotCompared()})
		}
		found.Equal = r.Equal
		return found, nil
	}
}

// NotCompared words which gates were not compared.
func (r *Report) NotCompared() string {
	return "not compared, because setup or a service fails: " + text.Some(r.Skipped, maxNamed)
}

// Confined returns what setup and gates did in a run, by its setup and some receipts.
func Confined(s *run.State, receipts []spec.Receipt) (outcomes []Outcome) {
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
