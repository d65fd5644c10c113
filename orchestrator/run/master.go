package run

import (
	"fmt"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// Master is how the turns of the master at the plan ended.
type Master struct {
	// Woken counts its results that have had their consequence, Turns its turns since it last wrote to an agent.
	Woken, Turns int
	// Done is set when it has nothing left to do, Again when its newest turn was interrupted without its fault.
	Done, Again bool
	// Fails counts its failures in a row; Fault is the newest.
	Fails int
	Fault spec.Fault
}

// apply folds what the conductor made of a result: nothing more to do, a failure, or a wait.
func (m *Master) apply(d TaskData) {
	m.Woken++
	m.Done, m.Again = d.State == TaskDone, d.Again
	if !d.Again {
		m.Turns++
	}
	if d.Fault == nil {
		m.Fails = 0
		return
	}
	m.Fails++
	m.Fault = *d.Fault
}

// planned folds that a turn made a plan.
func (m *Master) planned() {
	m.Woken++
	m.Turns++
	m.Fails, m.Done = 0, false
}

const (
	// maxFails bounds the master's failures in a row.
	maxFails = 3
	// MaxWakes bounds the master's turns in a row without a message to an agent.
	MaxWakes = 50
)

// GaveUp returns why the master is not woken again; "" while it may be.
func (m *Master) GaveUp() string {
	switch {
	case m.Fails >= maxFails:
		return "the master failed: " + m.Fault.Message
	case m.Turns >= MaxWakes && !m.Done:
		return fmt.Sprintf("the master was woken %d times without coming to an end", MaxWakes)
	default:
		return ""
	}
}

// CalledAt is where in the log an attempt of the master was dispatched; 0 for none.
func (w Works) CalledAt(attempt int) uint64 {
	if a := w[MasterTask].At(attempt); a != nil {
		return a.Pos
	}
	return 0
}

// MasterHasMail reports whether there is a message to the master that no turn of it which succeeded has received, and one will.
func (s *Agents) MasterHasMail() bool {
	all := s.Messages.to[MasterTask]
	if len(all) == 0 || s.Master.Done || s.Master.GaveUp() != "" {
		return false
	}
	newest := all[len(all)-1]
	received := s.Works.CalledAt(s.Master.Woken) > newest.Pos || newest.ReachedAgent(wire.AgentID(MasterTask, s.Master.Woken))
	return !received || s.Master.Again || s.Master.Fails > 0
}

// ForMaster reports whether what came at a position of the log is the master's to answer. What it leaves open when its turn has
// ended is a person's.
func (s *Agents) ForMaster(pos uint64, order *Spec) bool {
	if order.Plan != nil || s.Master.Done || s.Master.GaveUp() != "" {
		return false
	}
	first := 0 // the first turn that begins with it
	if w := s.Works[MasterTask]; w != nil {
		for n := w.Last; n > 0 && s.Works.CalledAt(n) > pos; n-- {
			first = n
		}
	}
	return first == 0 || s.Master.Woken < first || s.Master.Again || s.Master.Fails > 0
}
