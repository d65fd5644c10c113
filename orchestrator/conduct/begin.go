package conduct

import (
	"context"

	"divisi/internal/usage"
	"divisi/orchestrator/client"
)

// Start begins a run. It returns once the run's first event is in the log; an error before leaves nothing behind. The run goes on
// until it ends or ctx does, which stops it in order. Without Wait or Close it keeps its log open until the process ends.
func Start(ctx context.Context, o Options) (*client.Run, error) {
	if o.SendEnvironment {
		return nil, usage.Errorf("SendEnvironment is for a run that is submitted: this one is conducted here")
	}
	if o.Reprove > 0 && !o.Elsewhere {
		return nil, usage.Wrong("reprove needs workers elsewhere: in one process there is no other worker")
	}
	h, err := prepare(ctx, &o, toBegin)
	if err != nil {
		return nil, err
	}
	return h.begin(ctx, &o)
}

// Preview expands a plan file as Start does, and reports what Start would refuse. It writes only to a temporary directory,
// which it removes. It runs the commands of shard rules, which without the yes of Trust see none of the variables that the
// repository requests.
func Preview(ctx context.Context, o Options) (p Previewed, err error) {
	if o.Plan == nil {
		return p, usage.Errorf("a preview needs a plan: a goal is planned by a model")
	}
	o.Fetch = nil
	h, err := prepare(ctx, &o, toShow)
	if err != nil {
		return p, err
	}
	return h.preview(ctx, &o)
}
