package agent

import (
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/loopguard"
	"divisi/subagents/wire"
)

// listener hears an answer while it streams, so that one that repeats itself is broken off before it is paid for whole.
// What it learns is forgotten with the answer: the session hears the answer once it is in the log.
type listener struct {
	session *loopguard.Guard
	guard   *loopguard.Guard
	strike  *loopguard.Strike
}

func listen(session *loopguard.Guard) *listener {
	return &listener{session: session, guard: session.Clone()}
}

// struck takes a step of the answer in and reports whether it has closed a circle.
func (l *listener) struck(ev model.Event) bool {
	if ev.Restart {
		l.guard = l.session.Clone()
	}
	if ev.Delta == nil || ev.Delta.Text == "" || l.strike != nil {
		return false
	}
	l.strike = say(l.guard, ev.Delta)
	return l.strike != nil
}

// fault is why an answer that has closed a circle is discarded; its detail is the kind of the loop.
func (l *listener) fault() spec.Fault {
	return spec.Fault{Class: wire.FaultLoop, Message: l.strike.Detail, Detail: l.strike.Kind}
}
