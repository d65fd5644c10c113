package conductor_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/contextscope/compile"
	"divisi/contextscope/slice"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/brief"
	"divisi/subagents/wire"
)

// seen collects the assignments that a run made.
type seen struct {
	mu  sync.Mutex
	all map[string][]wire.Assignment
}

func (s *seen) add(a *wire.Assignment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string][]wire.Assignment{}
	}
	s.all[a.Task.ID] = append(s.all[a.Task.ID], *a)
}

// inherits runs a plan whose task survey hands the handoff over; every other task is done at once.
func (r *rig) inherits(handoff spec.Handoff) (*run.State, *seen) {
	s := &seen{}
	stop := r.hands(r.t.Context(), func(a *wire.Assignment) spec.Result {
		s.add(a)
		out := r.passes(a)
		if a.Task.ID == "survey" {
			out.Handoff = handoff
		}
		return out
	})
	defer stop()
	st, err := r.conduct(r.t.Context(), r.config())
	require.NoError(r.t, err)
	return st, s
}

func surveyed(s *run.Spec, inputs ...string) {
	s.Plan = planOf(
		spec.Task{ID: "survey", Role: "reader", Brief: "look"},
		spec.Task{ID: "write", Role: "reader", Brief: "use the table", Inputs: inputs, IncludeContents: spec.IncludeNone},
	)
}

// compiled is everything that the model of an assignment would be shown first.
func (r *rig) compiled(a *wire.Assignment) string {
	data, err := r.bus.Get(r.t.Context(), a.Slice)
	require.NoError(r.t, err)
	slice, err := slice.Decode(data)
	require.NoError(r.t, err)
	req := compile.NewCompiler().Compile(compile.Input{
		Agent: a.Agent(), Role: spec.Role{Name: a.Role.Name}, Slice: slice, Brief: brief.Of(a),
	})
	raw, err := json.Marshal(req.Contents)
	require.NoError(r.t, err)
	return string(raw)
}

func TestAnInputCanBeOneArtifactAndNothingElse(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) { surveyed(s, "survey/table") })
	handle, other := "artifact/r1/survey/1/table-0123456789ab", "artifact/r1/survey/1/other-0123456789ab"
	require.NoError(t, r.bus.Put(t.Context(), handle, []byte("name | place\nLoad | api.go:7")))
	require.NoError(t, r.bus.Put(t.Context(), other, []byte("OTHER")))
	st, s := r.inherits(spec.Handoff{
		Summary: "SUMMARY", Findings: []string{"FINDING"}, Deviations: []string{"DEVIATION"}, Artifacts: []string{other, handle},
	})
	require.Equal(t, run.Done, st.Status, st.Reason)
	a := s.all["write"][0]
	text := r.compiled(&a)
	require.Contains(t, text, "use the table")
	require.Contains(t, text, "Artifact table of task survey (reader)")
	require.Contains(t, text, `name | place\nLoad | api.go:7`)
	for _, rest := range []string{"SUMMARY", "FINDING", "DEVIATION", "OTHER", "look", other} {
		require.NotContains(t, text, rest)
	}
	require.Equal(t, spec.Handoff{}, a.Inputs[0].Handoff)
}

func TestAnArtifactIsBoundedOrOnlyItsHandle(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) { surveyed(s, "survey/large", "survey/binary", "survey") })
	large, binary := "artifact/r1/survey/1/large-0123456789ab", "artifact/r1/survey/1/binary-0123456789ab"
	require.NoError(t, r.bus.Put(t.Context(), large, []byte(strings.Repeat("line\n", 10_000))))
	require.NoError(t, r.bus.Put(t.Context(), binary, []byte("a\x00b")))
	_, s := r.inherits(spec.Handoff{Summary: "SUMMARY", Artifacts: []string{large, binary}})
	in := s.all["write"][0].Inputs
	require.Len(t, in, 3)
	require.Equal(t, contextscope.Artifact{Name: "large", Handle: large, Text: strings.Repeat("line\n", 6_553), Bytes: 50_000}, *in[0].Artifact)
	require.Equal(t, contextscope.Artifact{Name: "binary", Handle: binary, Bytes: 3}, *in[1].Artifact)
	require.Equal(t, "SUMMARY", in[2].Handoff.Summary, "a task that is an input as a whole hands its report over too")
}

func TestAnArtifactThatIsNotThereFailsTheTaskBeforeItBegins(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		artifacts []string
		reason    string
	}{
		"unknown": {
			[]string{"artifact/r1/survey/1/table-0123456789ab", "artifact:notes@1#01234567"},
			`input survey/tabel: the handoff of survey has no artifact "tabel"; it has table, notes (did you mean "table"?)`,
		},
		"none":             {nil, `the handoff of survey has no artifact "tabel"; it has none`},
		"not-in-the-run":   {[]string{"artifact/other/survey/1/tabel-0123456789ab"}, "is not in the store of this run"},
		"not-in-the-store": {[]string{"artifact/r1/survey/1/tabel-0123456789ab"}, "is not in the store of this run"},
		"no-such-version":  {[]string{"artifact:tabel@1#01234567"}, "is not in the store of this run"},
		"no-handle":        {[]string{"tabel"}, "is not in the store of this run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, files(1), func(s *run.Spec) { surveyed(s, "survey/tabel") })
			require.NoError(t, r.bus.Put(t.Context(), "artifact/other/survey/1/tabel-0123456789ab", []byte("theirs")))
			st, s := r.inherits(spec.Handoff{Summary: "s", Artifacts: tt.artifacts})
			require.Equal(t, run.TaskParked, st.Tasks.ByID["write"].State)
			require.Contains(t, st.Tasks.ByID["write"].Reason, tt.reason)
			require.Zero(t, st.Tasks.ByID["write"].Attempt)
			require.Empty(t, s.all["write"])
		})
	}
}

func TestSiblingsInheritTheSameBytesAndATaskTooBigIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Plan = planOf(
			spec.Task{ID: "survey", Role: "reader", Brief: "look"},
			spec.Task{ID: "a", Role: "reader", Brief: "short", Inputs: []string{"survey"}, IncludeContents: spec.IncludeFull},
			spec.Task{ID: "b", Role: "reader", Brief: strings.Repeat("longer ", 500), Inputs: []string{"survey"}, IncludeContents: spec.IncludeFull},
			spec.Task{ID: "big", Role: "reader", Brief: "big"},
		)
		s.Plan.DecisionRecord = "settled"
	})
	s := &seen{}
	stop := r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
		s.add(a)
		if a.Task.ID == "big" {
			return failed(wire.FaultTooBig, "big/1 has about 9 tokens")
		}
		return r.passes(a)
	})
	defer stop()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, s.all["a"][0].Slice, s.all["b"][0].Slice)
	require.NotEmpty(t, s.all["a"][0].Slice)
	require.Len(t, s.all["big"], 1)
	require.Equal(t, run.TaskParked, st.Tasks.ByID["big"].State)
	require.Contains(t, st.Tasks.ByID["big"].Reason, "big/1 has about 9 tokens")
}

func TestAJudgeIsShownTheAuthorsClaimsAndTheConstraintsOfTheRun(t *testing.T) {
	t.Parallel()
	for name, verify := range map[string]string{"judge": spec.RoleReviewer, "gates alone": spec.RoleTester} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, files(1), func(s *run.Spec) {
				s.Plan = planOf(spec.Task{
					ID: "w", Role: "generator", Brief: "b", Files: []string{"f00.txt"}, Constraints: []string{"own", "all"}, Verify: verify,
				})
				s.Plan.Constraints = []string{"all"}
			})
			s := &seen{}
			claims := spec.Handoff{Summary: "did it", Constraints: []spec.ConstraintEcho{{Text: "all", Kept: true}, {Text: "own", Kept: true}}}
			stop := r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
				s.add(a)
				out := r.passes(a)
				if a.Task.ID == "w" {
					out.Patch, out.Handoff = r.patch(a.Head, "f00.txt", "new"), claims
				}
				return out
			})
			defer stop()
			st, err := r.conduct(t.Context(), r.config())
			require.NoError(t, err)
			require.Equal(t, run.TaskLanded, st.Tasks.ByID["w"].State, st.Tasks.ByID["w"].Reason)
			require.Equal(t, []string{"all", "own"}, s.all["w"][0].Task.Constraints)
			if verify == spec.RoleTester {
				require.Empty(t, s.all["w--verify"])
				return
			}
			require.Equal(t, []string{"all", "own"}, s.all["w--verify"][0].Task.Constraints)
			require.Equal(t, []wire.Input{{Task: "w", Role: "generator", Handoff: claims}}, s.all["w--verify"][0].Inputs)
		})
	}
}
