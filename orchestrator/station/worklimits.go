package station

import (
	"cmp"
	"context"
	"slices"
	"time"

	"divisi/bus"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/depot"
)

// shareLimits has this process, the others of the machine and those of the server keep to the rate limits that services tell
// any of them.
func (w *Work) shareLimits(ctx context.Context, rate *model.RateLimit) error {
	common := w.party().common()
	rate.Follow(common.News())
	told := func(wait spec.Wait) {
		if err := common.Told(wait); err != nil {
			w.Log.Warn().Err(err).Msg("other runs are not told of a rate limit")
		}
	}
	rate.Share(told)
	if w.Bus.Embedded() {
		return nil
	}
	stop, err := depot.ListenLimits(ctx, w.Bus, rate)
	if err != nil {
		return err
	}
	w.Later(stop)
	rate.Share(func(wait spec.Wait) {
		told(wait)
		w.Say(ctx, w.Bus, bus.LimitsSubject(w.as()), wait.Sent(time.Now()))
	})
	w.party().keepTo(rate)
	return nil
}

// keepTo has an workerRun tell its conductors what holds of a rate limit, and keep to what they tell. What holds of the one
// before continues.
func (e *workerRun) keepTo(rate *model.RateLimit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rate != nil {
		for _, limit := range e.rate.Limits() {
			rate.Take(limit)
		}
	}
	e.rate = rate
}

// ownLimits are the limits that services told this worker itself: each worker answers for its own.
func (e *workerRun) ownLimits() (own []spec.Wait) {
	for _, w := range e.kept().Limits() {
		if w.From == "" || w.From == e.worker.o.Name {
			own = append(own, w.Sent(depot.Now()))
		}
	}
	return own
}

// maxShown bounds how many limits a worker reports that it keeps to.
const maxShown = 20

// allLimits adds to a list the limits that the workerRun keeps to and that it lacks.
func (e *workerRun) allLimits(list []spec.Wait) []spec.Wait {
	rate := e.kept()
	if rate == nil {
		return list
	}
	for _, w := range rate.Limits() {
		w.From = cmp.Or(w.From, e.worker.o.Name)
		if len(list) < maxShown && !slices.ContainsFunc(list, func(had spec.Wait) bool {
			return had.For == w.For && had.Model == w.Model && had.Account == w.Account && had.From == w.From
		}) {
			list = append(list, w.Sent(depot.Now()))
		}
	}
	return list
}

// kept is the rate limit of the workerRun; nil before it has one.
func (e *workerRun) kept() *model.RateLimit {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rate
}
