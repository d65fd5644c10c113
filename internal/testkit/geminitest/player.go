package geminitest

import (
	"fmt"
	"sync"
)

// Player answers requests from a script, or from a function. It counts tries and is safe for concurrent use.
type Player struct {
	script *Script
	handle func(Request) Answer

	mu    sync.Mutex
	tries map[tryKey]int
}

// tryKey identifies the call that a try repeats.
type tryKey struct {
	run, task, purpose string
	attempt, turn      int
	hop                string
}

// NewPlayer makes a player. handle, when not nil, answers instead of the script; it may be called from several
// goroutines at once and returns templates as a script has them.
func NewPlayer(script *Script, handle func(Request) Answer) *Player {
	return &Player{script: script, handle: handle, tries: make(map[tryKey]int)}
}

// Play answers one request; it sets req.Try. The error is a breach of the script: nothing answers this turn, or a
// template finds nothing.
func (p *Player) Play(req *Request) (Reply, error) {
	req.Try = p.count(req)
	a, where, err := p.choose(req)
	if err != nil {
		return Reply{}, err
	}
	fault := a.Fault != "" && (req.Try <= a.Times || (a.Times == 0 && (req.Try == 1 || !a.says())))
	if a.Fault == "continuation" {
		fault = true // the second hop is part of it
	}
	if a.Fault != "" && !fault && !a.says() {
		return Reply{}, fmt.Errorf("%s: the fault %s is over and there is no answer", where, a.Fault)
	}
	full, err := expandAnswer(a, req)
	if err != nil {
		return Reply{}, fmt.Errorf("%s: %w", where, err)
	}
	return render(req, full, fault), nil
}

func (p *Player) choose(req *Request) (Answer, string, error) {
	if p.handle != nil {
		a := p.handle(*req)
		if err := a.validate(); err != nil {
			return a, "", fmt.Errorf("the handler's answer: %w", err)
		}
		return a, "handler", nil
	}
	if p.script == nil {
		return Answer{}, "", fmt.Errorf("there is no script and no handler")
	}
	for i := range p.script.Rules {
		r := &p.script.Rules[i]
		if step := r.step(req); step >= 0 {
			return r.Steps[step], fmt.Sprintf("rules[%d].steps[%d]", i, step), nil
		}
	}
	return Answer{}, "", fmt.Errorf("no rule answers task %q, attempt %d, turn %d, purpose %q", req.Task, req.Attempt, req.Turn,
		req.Purpose)
}

func (p *Player) count(req *Request) int {
	key := tryKey{req.Run, req.Task, req.Purpose, req.Attempt, req.Turn, string(req.Continuation)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries[key]++
	return p.tries[key]
}
