package worker

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/internal/testkit/modeltest"

	"github.com/stretchr/testify/require"
)

// faultTable is what becomes of an attempt of each role under each fault of the service, one that passes and one that stays.
const faultTable = "testdata/faults.txt"

// manners are what models do that is no fault of the service.
var manners = map[string]func() geminitest.Answer{
	"only thoughts": func() geminitest.Answer { return geminitest.Answer{Thought: "Let me think."} },
	"only words":    func() geminitest.Answer { return geminitest.Answer{Text: "I am done."} },
	"one call for ever": func() geminitest.Answer {
		return geminitest.Answer{Calls: []geminitest.Call{{Name: spec.ToolReadFile, Args: map[string]any{"path": "a.txt"}}}}
	},
	"an unknown tool": func() geminitest.Answer { return geminitest.Answer{Calls: []geminitest.Call{{Name: "rm_rf"}}} },
	"200 calls at once": func() geminitest.Answer {
		a := geminitest.Answer{}
		for i := range 200 {
			args := map[string]any{"path": "a.txt", "start_line": i + 1}
			a.Calls = append(a.Calls, geminitest.Call{Name: spec.ToolReadFile, Args: args})
		}
		return a
	},
}

// rigged is a place where the service has one fault, or the model one of the manners: at its first turn, or always.
type rigged struct {
	*site

	fault  string
	always bool
}

// answer is what a role that gets on hands in at once.
func (r *rigged) answer(req geminitest.Request) geminitest.Answer {
	bad := r.always || req.Turn == 1
	if manner, ok := manners[r.fault]; ok && bad {
		return manner()
	}
	args := map[string]any{"summary": "done"}
	if strings.HasSuffix(req.Task, "--verify") {
		args["output"] = map[string]any{"verdict": "pass", "reasons": []any{}}
	}
	a := geminitest.Answer{
		Thought: "I know.", Text: "Here it is.", Calls: []geminitest.Call{{Name: spec.ToolSubmitResult, Args: args}},
	}
	if _, ok := manners[r.fault]; ok || !bad {
		return a
	}
	a.Fault, a.Times, a.RetryDelay = r.fault, 1, spec.Duration(10*time.Millisecond)
	if r.always {
		a.Times = math.MaxInt
	}
	if r.fault == "max_tokens" {
		a.Calls = nil
	}
	return a
}

// outcome carries one attempt of a role out and says in a line how it ended.
func (r *rigged) outcome(t *testing.T, role string, patch *spec.Patch) string {
	t.Helper()
	server := geminitest.Start(t, geminitest.Options{Handle: r.answer})
	patience := time.Minute
	if r.fault == "hang" || r.fault == "stall" {
		patience = 2 * time.Second // enough for an answer on a busy machine
	}
	gemini, err := model.NewGemini(t.Context(), model.Options{
		APIKey: "k", BaseURL: server.URL, Getenv: func(string) string { return "" },
		Patience: func(string) (first, silence time.Duration) { return patience, patience },
	})
	require.NoError(t, err)
	defer gemini.Close()
	m := model.New(gemini, model.Policy{Retry: model.Retry{
		Tries: 2, First: time.Millisecond, Max: time.Millisecond, LimitTime: 50 * time.Millisecond,
	}})
	a := r.assignment(roleOf(role), fmt.Sprintf("%s-%t", role, r.always))
	if role == spec.RoleTester {
		a.Task.ID += "--verify"
		a.Patch = patch
	}
	w := r.work(m, role)
	defer w.Stop()
	r.enqueue(a)
	result := r.result(a)
	line := string(result.Status)
	if result.Error != nil {
		line += " " + result.Error.Class
		require.NotEmpty(t, result.Error.Message, "none is silent")
	}
	return fmt.Sprintf("%s, %d calls", line, result.Usage.Calls)
}

func roleOf(name string) spec.Role {
	role := spec.Role{Name: name, Executor: spec.ExecutorModel, Model: "gemini-3.8-flash", Tools: []string{spec.ToolReadFile}}
	role.Limits.Turns = 12
	if name == spec.RoleGenerator {
		role.Tools, role.Writes = append(role.Tools, spec.ToolWriteFile), true
	}
	return role
}

// patch is something for a tester to judge.
func (r *rigged) patch(t *testing.T) *spec.Patch {
	t.Helper()
	s := &modeltest.Script{Steps: []modeltest.Step{writesFile("a.txt", "changed\n"), modeltest.Submits("ok")}}
	a := r.assignment(writer, "made")
	w := r.work(s, writer.Name)
	defer w.Stop()
	r.enqueue(a)
	return r.result(a).Patch
}

// beyondShort matches what the short form of the test leaves out of the table.
var beyondShort = regexp.MustCompile(`(?m)^.{25}(always .*|once    (generator|tester) .*)\n`)

func TestSlowEveryFaultOfTheServiceEndsInATypedResult(t *testing.T) { //nolint:tparallel // the table is read once all are done
	t.Parallel()
	faults := slices.Concat(geminitest.Faults(), slices.Sorted(maps.Keys(manners)))
	roles := []string{spec.RoleReader, spec.RoleGenerator, spec.RoleTester}
	if testing.Short() {
		roles = roles[:1]
	}
	lines := make([][]string, len(faults))
	t.Run("faults", func(t *testing.T) {
		for i, fault := range faults {
			t.Run(fault, func(t *testing.T) {
				t.Parallel()
				r := &rigged{site: newSite(t), fault: fault}
				patch := r.patch(t)
				for when, always := range []bool{false, true} {
					if r.always = always; always && testing.Short() {
						break
					}
					for _, role := range roles {
						lines[i] = append(lines[i], fmt.Sprintf("%-24s %-6s  %-10s  %s",
							fault, []string{"once", "always"}[when], role, r.outcome(t, role, patch)))
					}
				}
			})
		}
	})
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.Join(l, "\n") + "\n")
	}
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(faultTable), 0o755))
		require.NoError(t, os.WriteFile(faultTable, []byte(b.String()), 0o644))
	}
	table, err := os.ReadFile(faultTable)
	require.NoError(t, err)
	want := string(table)
	if testing.Short() {
		want = beyondShort.ReplaceAllString(want, "")
	}
	require.Equal(t, want, b.String())
}
