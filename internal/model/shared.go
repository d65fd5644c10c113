package model

import (
	"context"
	"maps"
	"slices"
	"time"

	"divisi/internal/spec"
	"divisi/internal/text"
)

const (
	// tellAgain is how much longer a rate limit has to become, at least, before other processes are told once more.
	tellAgain = 500 * time.Millisecond
	// maxQuotas bounds how many quotas are remembered that other processes tell.
	maxQuotas = 256
)

// Share has what services say of quotas told to other processes. tell is called on the goroutine of the call.
func (r *RateLimit) Share(tell func(spec.Wait)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell = tell
}

// Follow has calls keep to what news tells, which is called before each.
func (r *RateLimit) Follow(news func() []spec.Wait) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.news = news
}

func (r *RateLimit) follow() {
	r.mu.Lock()
	news := r.news
	r.mu.Unlock()
	if news == nil {
		return
	}
	for _, w := range news() {
		r.Take(w)
	}
}

// Take notes what another process was told by a service, where that concerns an account that is used here. It is not repeated.
func (r *RateLimit) Take(w spec.Wait) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.Account == "" || !w.Until.After(now) || !slices.Contains(slices.Collect(maps.Values(r.accounts)), w.Account) {
		return
	}
	w.Model, w.Quota = text.Clip(text.Valid(w.Model), 200), text.Clip(text.Valid(w.Quota), 200)
	switch w.For {
	case spec.WaitLimit:
		w.Until = earlier(w.Until, now.Add(ShortWait))
		r.extend(w)
	case spec.WaitQuota:
		w.Until = earlier(w.Until, now.Add(spec.MaxTold))
		if key := usedKey(w.Model, w.Account); len(r.used) < maxQuotas && w.Until.After(r.used[key].Until) {
			r.used[key] = w
		}
	}
}

// Drop ends what holds and matches.
func (r *RateLimit) Drop(match func(spec.Wait) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.used, func(_ string, w spec.Wait) bool { return match(w) })
	if match(r.newest) {
		r.until, r.quota, r.newest, r.told = time.Time{}, "", spec.Wait{}, time.Time{}
		close(r.freed)
		r.freed = make(chan struct{})
	}
}

// Limits are the rate limits and the quotas of known accounts that hold at present, for a process that begins.
func (r *RateLimit) Limits() (list []spec.Wait) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until.After(now) && r.newest.Account != "" {
		list = append(list, r.newest)
	}
	for _, key := range slices.Sorted(maps.Keys(r.used)) {
		if w := r.used[key]; w.Until.After(now) && w.Account != "" {
			list = append(list, w)
		}
	}
	return list
}

// Serve notes the accounts, by the name of the model, of services that are called under the limit; "" is for every name that is
// not there.
func (r *RateLimit) Serve(accounts map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.accounts, accounts)
}

// account is the one that a model is served under. The caller holds mu.
func (r *RateLimit) account(model string) string {
	if a, named := r.accounts[model]; named {
		return a
	}
	return r.accounts[""]
}

// Refused notes the refusal of a call that came after so many others. It reports whether the call may be sent again once the
// limit is over, as Wait tells; where that is far, the model is not asked until then.
func (r *RateLimit) Refused(ctx context.Context, c Candidate, err *Error, before int) bool {
	if err.wait {
		r.holdFor(c, err, before)
		return true
	}
	r.keep(ctx, c, err)
	return false
}

// holdFor lets all calls wait for as long as a refusal names. One that names no time waits longer each time.
func (r *RateLimit) holdFor(c Candidate, err *Error, before int) {
	wait := err.RetryAfter
	if wait <= 0 {
		wait = min(5*time.Second<<min(before, 4), time.Minute)
	}
	r.hold(c, time.Now().Add(max(wait, time.Second)), err.Quota)
}

// hold lets all calls wait, because a service has said so to a call of this process.
func (r *RateLimit) hold(c Candidate, until time.Time, quota string) {
	r.mu.Lock()
	w := spec.Wait{For: spec.WaitLimit, Model: c.String(), Quota: quota, Until: until, Account: r.account(c.Model)}
	r.extend(w)
	tell := r.tell
	if w.Account == "" || until.Sub(r.told) < tellAgain {
		tell = nil
	}
	if tell != nil {
		r.told = until
	}
	r.mu.Unlock()
	if tell != nil {
		tell(w)
	}
}

// extend is Extend. The caller holds mu.
func (r *RateLimit) extend(w spec.Wait) {
	if w.Until.After(r.until) {
		r.until, r.quota, r.newest = w.Until, w.Quota, w
	}
}

func usedKey(model, account string) string { return model + "\n" + account }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
