package orchestrator

import (
	"fmt"
	"sync"

	"divisi/internal/model/record"
	"divisi/internal/usage"
	"divisi/orchestrator/needs"
)

// tape is what becomes of a run's exchanges with its models: recorded, replayed, or neither. The zero value is neither.
type tape struct {
	// to is the directory of a recording that is made.
	to     string
	replay *record.Replay

	mu   sync.Mutex
	lost int // exchanges that could not be kept
}

// openTape opens the recording that is to be replayed. One that is to be made begins with the run.
func (h *holder) openTape() error {
	h.tape = &tape{to: h.Record}
	if h.Replay == "" {
		return nil
	}
	if h.Record != "" {
		return usage.Errorf("--record and --replay exclude each other: a replay makes no new exchanges")
	}
	var err error
	h.tape.replay, err = record.Load(h.Replay, needs.Secrets(&h.spec))
	if err != nil {
		return usage.Errorf("--replay: %v", err)
	}
	return nil
}

// recorder begins the recording; nil where none is wanted.
func (h *holder) recorder() (*record.Recorder, error) {
	t := h.tape
	if t.to == "" {
		return nil, nil
	}
	r, err := record.Open(record.Options{Dir: t.to, Run: h.spec.Run, Secrets: needs.Secrets(&h.spec), OnError: func(err error) {
		h.log.Error().Err(err).Msg("the recording has a gap")
		t.mu.Lock()
		defer t.mu.Unlock()
		t.lost++
	}})
	if err != nil {
		return nil, usage.Errorf("--record: %v", err)
	}
	return r, nil
}

// notices are what a person should know of the recording by now.
func (t *tape) notices() (list []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost > 0 {
		list = append(list, fmt.Sprintf("record: %d of the exchanges could not be written to %s: a replay will end there",
			t.lost, t.to))
	}
	return list
}
