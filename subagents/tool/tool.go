package tool

import (
	"context"
	"fmt"

	"divisi/contextscope"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// Call is one function call of a model.
type Call struct {
	// ID is the model's id of the call; may be empty.
	ID string
	// Name is the tool; Args are its arguments, as JSON decodes them.
	Name string
	Args map[string]any
}

// Result is what a call came to.
type Result struct {
	// Output becomes the function response. By convention its key is "output", or "error" when the call failed; others
	// carry facts such as an exit code.
	Output map[string]any
	// Err says that the call failed.
	Err bool
	// Ends says that the attempt is over after this turn.
	Ends bool
	// Submit is set by submit_result, Plan by dispatch, HandedOver by transfer.
	Submit     *spec.Handoff
	Plan       *spec.Plan
	HandedOver bool
	// Load is what load_artifact shows in the next request, and in no other.
	Load *Load
	// Kept are the artifacts that were made of outputs too large to show.
	Kept []contextscope.Listed
	// Usage is what model calls on the way cost.
	Usage spec.Usage
	// Doing says in a few words what the call did, for the people who watch.
	Doing string
}

// Load is an artifact, or a part of it.
type Load struct {
	Handle string
	// What says which part it is, and how to get what was asked for beyond it.
	What string
	// Text has at most 40,000 characters.
	Text string
}

// Tool is one thing that an agent can do.
type Tool interface {
	// Declaration is what the model is told. The schema of the arguments is in ParametersJsonSchema, as a map that is flat
	// and has no bounds. It is called often and must always return an equal value, which the caller does not change.
	Declaration() *genai.FunctionDeclaration
	// Effect says what a call touches, and so what may run beside it. Its arguments have been checked.
	Effect(call Call) Effect
	// Run carries out one call whose arguments fit the schema. It must return soon after ctx ends, and reports what went
	// wrong as a result that says what to do. It must allow calls from several goroutines, unless it writes.
	Run(ctx context.Context, call Call) Result
}

// Effect is what a call touches.
type Effect int

const (
	// Reads is a call that changes nothing that another call of the agent could see: it may run beside others.
	Reads Effect = iota
	// Writes is a call that may change the work tree: it runs alone.
	Writes
	// Waits is a call that waits for somebody else, another agent or a person: it may run beside others, its time is no time
	// of the agent, and its agent takes no room while all that it does is wait.
	Waits
)

// Doer is a Tool that can say what a call is going to do.
type Doer interface {
	// Doing describes the call in a few words. The arguments have not been checked.
	Doing(call Call) string
}

// Asker is a Tool whose calls wait for the decision of the master or a person.
type Asker interface {
	// AwaitsDecision says for what, in a few words.
	AwaitsDecision() string
}

// Text is a result that succeeded.
func Text(output string) Result { return Result{Output: map[string]any{"output": output}} }

// Failed is a result that did not; the message says what to do instead.
func Failed(format string, args ...any) Result {
	return Result{Output: map[string]any{"error": fmt.Sprintf(format, args...)}, Err: true}
}

// The arguments have been checked against the schema, so that a wrong type is only an absent optional one.

func (c Call) text(name string) string {
	s, _ := c.Args[name].(string)
	return s
}

func (c Call) flag(name string) bool {
	b, _ := c.Args[name].(bool)
	return b
}

// has says whether a number was given at all.
func (c Call) has(name string) bool {
	_, ok := c.Args[name].(float64)
	return ok
}

// number returns an integer argument, bounded to what a line or a count can be.
func (c Call) number(name string, otherwise int) int {
	const most = 1 << 30
	f, ok := c.Args[name].(float64)
	if !ok {
		return otherwise
	}
	return int(min(max(f, -most), most))
}

func (c Call) texts(name string) []string {
	list, _ := c.Args[name].([]any)
	var texts []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			texts = append(texts, s)
		}
	}
	return texts
}

// short bounds a text for a line that people watch.
func short(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}
