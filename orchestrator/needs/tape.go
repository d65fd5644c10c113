package needs

import (
	"context"

	"divisi/internal/model"
	"divisi/internal/model/record"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
)

// Tape is where the exchanges of a run with models are kept, or where they come from: directories, "" for none.
type Tape struct {
	Run, Record, Replay string
	// Gap is told what could not be written, from any goroutine.
	Gap func(error)
}

// Callable returns why the models of a run cannot be called from here; nil where a recording answers for them.
func Callable(ctx context.Context, s *run.Spec, replay string) error {
	if replay != "" || !Model(s) {
		return nil
	}
	_, end, err := Connect(ctx, s)
	if err == nil {
		end()
	}
	return err
}

// Models connects to the services of the run's models, or to a recording of them; nil where no role needs one. A replay has no
// budget and no retries: what they led to was recorded. end closes the connections;
// policy is asked for where a service is called.
func Models(ctx context.Context, s *run.Spec, t Tape, policy func() model.Policy) (m model.Model, end func(), err error) {
	end = func() {}
	if t.Replay != "" {
		replay, err := record.Load(t.Replay, Secrets(s))
		if err != nil {
			return nil, end, usage.Wrong("replay: %v", err)
		}
		return replay, end, nil
	}
	var recorder *record.Recorder
	if t.Record != "" {
		o := record.Options{Dir: t.Record, Run: t.Run, Secrets: Secrets(s), OnError: t.Gap}
		if recorder, err = record.Open(o); err != nil {
			return nil, end, usage.Wrong("record: %v", err)
		}
	}
	if !Model(s) {
		return nil, end, nil
	}
	base, closed, err := Connect(ctx, s)
	if err != nil {
		return nil, end, err
	}
	if m = model.New(base, policy()); recorder != nil {
		m = recorder.Model(m)
	}
	return m, closed, nil
}
