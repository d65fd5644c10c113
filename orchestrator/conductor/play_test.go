package conductor_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/run"
)

// agentRole is a role whose agents have the tools.
func agentRole(name string, tools ...string) spec.Role {
	r := spec.Role{
		Name: name, Description: "does " + name, Executor: spec.ExecutorModel, Tools: tools, Instruction: "You are " + name + ".",
		Source: "test", Limits: spec.Limits{Time: spec.Duration(time.Minute)},
	}
	r.Writes = r.ChangesFiles()
	return r
}

// addRoles gives a run roles of the test's own.
func addRoles(s *run.Spec, roles ...spec.Role) {
	for _, r := range roles {
		s.Roles[r.Name] = r
	}
}

func calls(list ...geminitest.Call) geminitest.Answer { return geminitest.Answer{Calls: list} }

func callOf(name string, args map[string]any) geminitest.Call {
	return geminitest.Call{Name: name, Args: args}
}

func delegates(role, brief string, more ...any) geminitest.Call {
	args := map[string]any{"role": role, "brief": brief}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return callOf(spec.ToolDelegate, args)
}

func writes(path, text string) geminitest.Answer {
	return calls(callOf(spec.ToolWriteFile, map[string]any{"path": path, "content": text}))
}

func submits(summary string) geminitest.Answer {
	return calls(callOf(spec.ToolSubmitResult, map[string]any{"summary": summary}))
}

// keeps is submits of a task with one constraint.
func keeps(summary string) geminitest.Answer {
	return calls(callOf(spec.ToolSubmitResult, map[string]any{
		"summary": summary, "constraints": []any{map[string]any{"number": 1, "kept": true}},
	}))
}

// parts reports what the agents of a run answer, turn by turn, by task or task/attempt. Beyond the end the last one is repeated.
type parts map[string][]geminitest.Answer

// asked keeps what every agent was sent.
type asked struct {
	mu   sync.Mutex
	text map[string]string
	n    map[string]int
	// hold, when it is set, is waited for before an answer is given.
	hold func(q geminitest.Request)
}

// at is the request of a turn, such as lead/1/2.
func (a *asked) at(turn string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text[turn]
}

// count is how often a turn was asked for.
func (a *asked) count(turn string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n[turn]
}

// killedAt conducts the run until an agent asks for a turn, and kills all then.
func (r *rig) killedAt(said *asked, turn func(q geminitest.Request) bool) {
	r.t.Helper()
	ctx, kill := context.WithCancel(r.t.Context())
	defer kill()
	said.hold = func(q geminitest.Request) {
		if turn(q) {
			kill()
			<-r.t.Context().Done()
		}
	}
	stop := r.worker(ctx)
	_, err := r.conduct(ctx, r.config())
	require.NoError(r.t, err)
	said.hold = nil
	stop()
}

// play connects the rig to a model that plays the parts.
func (r *rig) play(p parts) *asked {
	a := &asked{text: map[string]string{}, n: map[string]int{}}
	r.useModel(geminitest.Options{Handle: func(q geminitest.Request) geminitest.Answer {
		a.mu.Lock()
		key := fmt.Sprintf("%s/%d/%d", q.Task, q.Attempt, q.Turn)
		a.text[key] = q.Text() + "\n" + string(q.Body)
		a.n[key]++
		a.mu.Unlock()
		if a.hold != nil {
			a.hold(q)
		}
		steps, ok := p[fmt.Sprintf("%s/%d", q.Task, q.Attempt)]
		if !ok {
			steps = p[q.Task]
		}
		if len(steps) == 0 {
			return submits("nobody told " + q.Task + " what to do")
		}
		return steps[min(q.Turn, len(steps))-1]
	}})
	return a
}

func kinds(t *testing.T, r *rig, role, task string, attempt int) map[contextscope.Kind]int {
	t.Helper()
	events, err := assign.Session(t.Context(), r.bus, "r1", role, task, attempt)
	require.NoError(t, err)
	out := map[contextscope.Kind]int{}
	for _, e := range events {
		out[e.Kind]++
	}
	return out
}
