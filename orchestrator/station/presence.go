package station

import (
	"divisi/internal/machine"
	"divisi/subagents/wire"
)

// presence is the worker's current report about itself.
func (w *Worker) presence() wire.Presence {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.facts
	p.State, p.Until, p.Said, p.Runs = w.state, w.until, w.said, map[string]wire.Service{}
	if w.Lack != nil && p.State == wire.WorkerReady {
		p.State, p.Short = wire.WorkerLacking, w.Lack.Error()
	}
	if p.State != wire.WorkerReady {
		p.Places = wire.Places{}
	}
	if free, ok := machine.Free(w.Dir.Path); ok {
		p.Disk = uint64(max(0, free))
	}
	for id, e := range w.runs {
		p.Runs[id] = e.service()
		p.Limits = e.allLimits(p.Limits)
	}
	return p
}
