// Package tool runs the tool calls of a model: Set checks the arguments of a call against the tool's schema, with all errors at
// once, runs it, and bounds what it returns; New makes a tool of a Go function, whose argument struct is its declaration.
// Its input is a call and its output a result that the model reads, also where the call failed: then it reports what to do
// instead. The tools themselves are in the packages below. It never panics, and knows neither the bus nor the turn loop.
package tool

import (
	"context"
	"fmt"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/text"

	"google.golang.org/genai"
)

// Call is one function call of a model.
type Call struct {
	// ID names the call within its attempt, in every delivery the same; may be empty.
	ID string
	// Name is the tool; Args are its arguments, as JSON decodes them.
	Name string
	Args map[string]any
}

// Result is the result of a call.
type Result struct {
	// Output becomes the function response. By convention its key is "output", or "error" when the call failed; others
	// carry facts such as an exit code.
	Output map[string]any
	// Err reports that the call failed.
	Err bool
	// Red reports that a command or a gate that the call ran failed; the call itself did not.
	Red bool
	// Ends reports that the attempt is over after this turn.
	Ends bool
	// Submit is set by submit_result, Plan by dispatch, HandedOver by transfer.
	Submit     *spec.Handoff
	Plan       *spec.Plan
	HandedOver bool
	// Steps are the agent's own plan, where the call changed it.
	Steps []spec.Step
	// Load is shown by load_artifact in the next request, and in no other.
	Load *Load
	// Kept are the artifacts that were made of outputs too large to show.
	Kept []contextscope.Listed
	// Usage is the cost of model calls on the way.
	Usage spec.Usage
	// Doing describes in a few words what the call did, for the people who watch.
	Doing string
}

// Load is an artifact, or a part of it.
type Load struct {
	Handle string
	// What names the part, and how to get what was asked for beyond it.
	What string
	// Text has at most 40,000 characters.
	Text string
}

// Tool is one function that an agent can call.
type Tool interface {
	// Declaration is a tool's description for the model. The schema of the arguments is in ParametersJsonSchema, as a map that is
	// flat and has no bounds. It is called often and must always return an equal value, which the caller does not change.
	Declaration() *genai.FunctionDeclaration
	// Effect is the effect of a call, which decides what may run beside it. The arguments of a call that will not run do not fit.
	Effect(call Call) Effect
	// Run runs one call whose arguments fit the schema. It must return soon after ctx ends, and reports an error as a result
	// that reports what to do. It must allow calls from several goroutines, unless it writes.
	Run(ctx context.Context, call Call) Result
}

// Effect is the effect of a call.
type Effect int

const (
	// Reads is a call that changes nothing that another call of the agent could see: it may run beside others.
	Reads Effect = iota
	// Writes is a call that may change the work tree: it runs alone.
	Writes
	// Waits is a call that waits for another agent or a person: it may run beside others, its time is no time of the agent, and
	// its agent holds no permit while all that it does is wait.
	Waits
	// Asks is a call that waits like Waits, for the decision of the master or a person.
	Asks
)

// Waiting reports whether the call waits for another agent or a person.
func (e Effect) Waiting() bool { return e == Waits || e == Asks }

// Doer is a Tool that can describe a call.
type Doer interface {
	// Doing describes the call in a few words. The arguments have not been checked.
	Doing(call Call) string
}

// Text is a result that succeeded.
func Text(output string) Result { return Result{Output: map[string]any{"output": output}} }

// Failed is a result of a call that failed; the message reports what to do instead.
func Failed(format string, args ...any) Result {
	return Result{Output: map[string]any{"error": fmt.Sprintf(format, args...)}, Err: true}
}

type (
	beatKey  struct{}
	queueKey struct{}
)

// WithBeat returns a context in which Beat calls heard, from whichever goroutines the tools use; it must return at once.
func WithBeat(ctx context.Context, heard func(note string)) context.Context {
	return context.WithValue(ctx, beatKey{}, heard)
}

// Beat reports that a tool that takes long still runs, and in a few words where it is. Without WithBeat it does nothing.
func Beat(ctx context.Context, note string) {
	if heard, ok := ctx.Value(beatKey{}).(func(string)); ok {
		heard(text.Short(text.OneLine(note), maxDoing))
	}
}

// WithQueue returns a context in which Queue calls suspend, which stops the call's clocks until resume is called. Both may be
// called from whichever goroutine the tool uses.
func WithQueue(ctx context.Context, suspend func() (resume func())) context.Context {
	return context.WithValue(ctx, queueKey{}, suspend)
}

// Queue reports that a tool waits for a permit that others hold: until resume is called its time and its silence do not count.
// Such waits of one call come one after another. Without WithQueue it does nothing.
func Queue(ctx context.Context) (resume func()) {
	if suspend, ok := ctx.Value(queueKey{}).(func() func()); ok {
		return suspend()
	}
	return func() {}
}
