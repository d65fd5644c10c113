package model

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"divisi/internal/spec"
)

// RateLimit stops every call of the process while a shared quota is exhausted: the quota belongs to the project, not to the
// agent that happened to hit it. Share and Take have other processes with the same account keep to it too. It knows too which
// models are not asked, because a quota of theirs is used up for long. It is safe for concurrent use.
type RateLimit struct {
	mu    sync.Mutex
	until time.Time
	quota string
	// away is until when calls wait for services that are away.
	away time.Time
	used map[string]spec.Wait // by model with its tier, and account

	// accounts are those of the models that are called under it; newest is why until is what it is. tell tells other processes of
	// what services say, told is the time that it told last.
	accounts map[string]string
	newest   spec.Wait
	tell     func(spec.Wait)
	told     time.Time
	// news are the limits that other processes of the machine have told since it was called last; nil for none.
	news func() []spec.Wait
	// freed is closed when the limit ends before its time.
	freed chan struct{}
}

// NewRateLimit makes a rate limit. used are the quotas that are known to be used up.
func NewRateLimit(used map[string]spec.Wait) *RateLimit {
	r := &RateLimit{used: map[string]spec.Wait{}, accounts: map[string]string{}, freed: make(chan struct{})}
	for _, w := range used {
		r.used[usedKey(w.Model, w.Account)] = w
	}
	return r
}

// Extend lets all calls wait until a time. It never shortens.
func (r *RateLimit) Extend(until time.Time, quota string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.extend(spec.Wait{Until: until, Quota: quota})
}

// Until is when the rate limit ends, or the wait for a service that is away, and the quota that caused it; a time in the past
// means that no call waits.
func (r *RateLimit) Until() (time.Time, string) {
	r.follow()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away.After(r.until) {
		return r.away, ""
	}
	return r.until, r.quota
}

// end is when all calls may be sent again, unless freed is closed before.
func (r *RateLimit) end() (until time.Time, quota string, freed <-chan struct{}) {
	r.follow()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until, r.quota, r.freed
}

// Account is the one whose call was told the newest limit.
func (r *RateLimit) Account() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest.Account
}

// pauseClocks stops the deadlines of agents until a time, because a service is unavailable.
func (r *RateLimit) pauseClocks(until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if until.After(r.away) {
		r.away = until
	}
}

// Wait returns when no rate limit is left, or with the context's error. Waiters leave spread over a tenth of their
// wait, two seconds at most, so that the end of a limit is not the next stampede.
func (r *RateLimit) Wait(ctx context.Context) error {
	for {
		until, _, freed := r.end()
		left := time.Until(until)
		if left <= 0 {
			return ctx.Err()
		}
		spread := min(left/10, 2*time.Second) + 1
		timer := time.NewTimer(left + rand.N(spread)) //nolint:gosec // spreading a stampede needs no secrecy
		select {
		case <-timer.C:
		case <-freed:
		case <-ctx.Done():
		}
		timer.Stop()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// sleep waits, or returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// free is nil where a quota of none of some models is known to be used up, else the error of the one that is free first.
func (r *RateLimit) free(all []Candidate) (first *Error) {
	for _, c := range all {
		err := r.Refuse(c)
		if err == nil {
			return nil
		}
		if first == nil || err.RetryAfter < first.RetryAfter {
			first = err
		}
	}
	return first
}

// Await returns once one of some models may be asked, with the error of the one that is free first where that is after end, or
// with the end of ctx. The clocks of attempts stop meanwhile.
func (r *RateLimit) Await(ctx context.Context, all []Candidate, end time.Time) *Error {
	for {
		err := r.free(all)
		if err == nil {
			return nil
		}
		until := time.Now().Add(err.RetryAfter)
		if until.After(end) {
			return err
		}
		r.pauseClocks(until)
		tell(ctx, err.Used)
		if ended := sleep(ctx, err.RetryAfter); ended != nil {
			return cancelled(ended)
		}
	}
}

// Used are the models of an account whose quota is used up.
func (r *RateLimit) Used(account string) (all []Candidate) {
	r.follow()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(r.used)) {
		if w := r.used[key]; w.Account == account && w.Until.After(time.Now()) {
			all = append(all, Candidate{Model: w.Model})
		}
	}
	return all
}

// Refuse is the error of a call whose model's quota is known to be used up; nil for any other.
func (r *RateLimit) Refuse(c Candidate) *Error {
	r.follow()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, account := range []string{"", r.account(c.Model)} {
		w := r.used[usedKey(c.String(), account)]
		if left := time.Until(w.Until); left > 0 {
			return &Error{Class: RateLimited, Quota: w.Quota, Message: w.String(), RetryAfter: left, Used: w}
		}
	}
	return nil
}

// keep remembers a quota that is used up for longer than a call waits.
func (r *RateLimit) keep(ctx context.Context, c Candidate, err *Error) {
	if err.Class != RateLimited || err.wait || err.RetryAfter <= ShortWait {
		return
	}
	w := spec.Wait{For: spec.WaitQuota, Model: c.String(), Quota: err.Quota, Until: time.Now().Add(err.RetryAfter)}
	r.mu.Lock()
	w.Account = r.account(c.Model)
	r.used[usedKey(w.Model, w.Account)] = w
	share := r.tell
	r.mu.Unlock()
	err.Message = fmt.Sprintf("%s: %s", w, err.Message)
	tell(ctx, w)
	if share != nil && w.Account != "" {
		share(w)
	}
}

type observerKey struct{}

// WithObserver returns a context whose calls tell observe what they wait for, on the goroutine of the call.
func WithObserver(ctx context.Context, observe func(spec.Wait)) context.Context {
	return context.WithValue(ctx, observerKey{}, observe)
}

// Tell tells the observer of a context, if any, what a call waits for.
func Tell(ctx context.Context, w spec.Wait) { tell(ctx, w) }

func tell(ctx context.Context, w spec.Wait) {
	if observe, ok := ctx.Value(observerKey{}).(func(spec.Wait)); ok {
		observe(w)
	}
}
