package stats

import (
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Outlook is what a run used so far, and what the rest is likely to use: at the pace of the tasks that have ended, else by the
// estimate of the plan. What nothing tells is 0.
type Outlook struct {
	Tokens int `json:"tokens"`
	// Seconds are without those in which the run waited for a person.
	Seconds float64 `json:"seconds"`
	// TokensLeft and SecondsLeft are the least and the most.
	TokensLeft  [2]int     `json:"tokens_left,omitzero"`
	SecondsLeft [2]float64 `json:"seconds_left,omitzero"`
}

// OutlookOf returns the outlook of a run at a time.
func OutlookOf(s *run.State, now time.Time) Outlook {
	if at := s.Plans.ToApprove(); at >= 0 {
		return OutlookWith(s, now, &s.Plans.All[at])
	}
	return OutlookWith(s, now, nil)
}

// OutlookWith is OutlookOf where a plan, if there is one, waits for approval.
func OutlookWith(s *run.State, now time.Time, waiting *run.PlanData) Outlook {
	if s.Wait.For != "" || s.Status.Ended() {
		now = s.Time
	}
	clock := s.Times.Clock(now)
	o := Outlook{Tokens: s.Usage.Total(), Seconds: active(s, 0, clock).Seconds()}
	if s.Status.Ended() && s.Status != run.Stopped {
		return o
	}
	ended, open := 0, 0
	for t := range s.Tasks.All() {
		if t.Ended() {
			ended++
		} else {
			open++
		}
	}
	switch {
	case waiting != nil:
		o.expect(s, waiting)
	case ended > 0:
		of, rest := costs(s), float64(open)/float64(ended)
		tokens := int(rest * float64(of[ofTasks].tokens+of[ofLanding].tokens))
		took := rest * active(s, s.Times.Entered[run.Running], clock).Seconds()
		o.TokensLeft, o.SecondsLeft = [2]int{tokens, tokens}, [2]float64{took, took}
	case open > 0:
		o.expect(s, &s.Plans.All[len(s.Plans.All)-1])
	}
	return o
}

// expect takes what is left from the estimate of a plan, by what models of the run took for a token.
func (o *Outlook) expect(s *run.State, p *run.PlanData) {
	if p.Likely == nil {
		return
	}
	o.TokensLeft = [2]int{p.Likely.Low, p.Likely.High}
	if o.Tokens == 0 {
		return
	}
	width := float64(max(1, min(s.Spec.Parallel, len(p.Tasks))))
	var gates time.Duration
	for _, r := range s.Proofs.Baseline {
		gates += r.Duration
	}
	for i, tokens := range o.TokensLeft {
		each := s.Times.Sums[run.Models].Seconds() / float64(o.Tokens)
		o.SecondsLeft[i] = float64(tokens)*each/width + gates.Seconds()
	}
}

// active is the time between two times of the run's clock in which the run waited for no person.
func active(s *run.State, from, to time.Duration) time.Duration {
	took := to - from
	for _, p := range s.Times.Persons {
		took -= max(0, min(p.To, to)-max(p.From, from))
	}
	return max(0, took)
}

// String is the outlook in a line.
func (o Outlook) String() string {
	words := "so far " + text.Tokens(o.Tokens) + " tokens and " + text.Span(seconds(o.Seconds))
	if left := o.Left(); left != "" {
		words += "; to go about " + left
	}
	return words
}

// Left words what is left; "" where nothing tells.
func (o Outlook) Left() string {
	tokens := between(text.Tokens(o.TokensLeft[0]), text.Tokens(o.TokensLeft[1])) + " tokens"
	took := between(text.Span(seconds(o.SecondsLeft[0])), text.Span(seconds(o.SecondsLeft[1])))
	switch {
	case o.SecondsLeft[1] == 0 && o.TokensLeft[1] == 0:
		return ""
	case o.SecondsLeft[1] == 0:
		return tokens
	case o.TokensLeft[1] == 0:
		return took
	}
	return tokens + " and " + took
}

func between(low, high string) string {
	if low == high {
		return low
	}
	return low + " to " + high
}
