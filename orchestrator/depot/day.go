package depot

import (
	"maps"
	"time"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

const (
	dayName = "day.json"
	// dayLease is how long what a process has reserved may come back, since it was heard last. Then it counts as spent.
	dayLease = 15 * time.Minute
)

// dayFile is the use of a day, by all processes, in each unit of a budget.
type dayFile struct {
	Day    string  `json:"day"`
	Tokens dayUnit `json:"tokens"`
	Money  dayUnit `json:"money"`
}

type dayUnit struct {
	Raised int64              `json:"raised,omitempty"`
	Spent  int64              `json:"spent,omitempty"`
	Open   map[string]dayOpen `json:"open,omitempty"`
}

// dayOpen is what one process has reserved.
type dayOpen struct {
	Amount int64     `json:"amount"`
	Until  time.Time `json:"until"`
}

func (f *dayFile) unit(money bool) *dayUnit {
	if money {
		return &f.Money
	}
	return &f.Tokens
}

// begin forgets the day before. Where clocks differ the later day counts: nothing is forgotten twice.
func (f *dayFile) begin(now time.Time) {
	if day := now.Local().Format(time.DateOnly); day > f.Day {
		*f = dayFile{Day: day}
	}
}

// spend counts what processes have reserved as spent.
func (u *dayUnit) spend(ended func(holder string, o dayOpen) bool) {
	maps.DeleteFunc(u.Open, func(holder string, o dayOpen) bool {
		if !ended(holder, o) {
			return false
		}
		u.Spent += o.Amount
		return true
	})
}

func (u *dayUnit) reserved() (sum int64) {
	for o := range maps.Values(u.Open) {
		sum += o.Amount
	}
	return sum
}

// hold has a process reserve more, or less: what it lacks was counted as spent before.
func (u *dayUnit) hold(holder string, more int64, now time.Time) {
	amount := u.Open[holder].Amount + more
	u.Spent += min(0, amount)
	if delete(u.Open, holder); amount > 0 {
		if u.Open == nil {
			u.Open = map[string]dayOpen{}
		}
		u.Open[holder] = dayOpen{amount, now.Add(dayLease)}
	}
}

// Day is the use of a day as one holder, a run or a worker of it, changes it. It implements model.Pool.
type Day struct {
	common Common
	holder string
	clock  func() time.Time
}

// Day is that of a holder. What an earlier process with its name has reserved is spent: that process has ended.
func (c Common) Day(holder string, clock func() time.Time) (*Day, error) {
	var f dayFile
	return &Day{c, holder, clock}, c.change(dayName, &f, func() {
		f.begin(clock())
		for _, u := range []*dayUnit{&f.Tokens, &f.Money} {
			u.spend(func(other string, _ dayOpen) bool { return other == holder })
		}
	})
}

// Change implements model.Pool.
func (d *Day) Change(money bool, change func(*model.Pooled)) error {
	var f dayFile
	return d.common.change(dayName, &f, func() {
		now := d.clock()
		f.begin(now)
		u := f.unit(money)
		u.spend(func(holder string, o dayOpen) bool { return holder != d.holder && !o.Until.After(now) })
		had := model.Pooled{Day: f.Day, Raised: u.Raised, Spent: u.Spent, Reserved: u.reserved()}
		p := had
		change(&p)
		u.Spent += p.Spent - had.Spent
		u.hold(d.holder, p.Reserved-had.Reserved, now)
	})
}

// RaiseDay sets the limit of the day that has begun, for all runs. A larger one that was set before stays.
func (c Common) RaiseDay(b spec.Budget, clock func() time.Time) error {
	var f dayFile
	return c.change(dayName, &f, func() {
		f.begin(clock())
		u := f.unit(b.Money)
		u.Raised = max(u.Raised, b.Amount)
	})
}

// Today is the day of a time, with the budget of all runs for it, b unless a person has raised it, and what they have spent.
func (c Common) Today(b spec.Budget, now time.Time) (run.Day, int64, error) {
	var f dayFile
	err := c.read(dayName, &f)
	f.begin(now)
	u := f.unit(b.Money)
	b.Amount = max(b.Amount, u.Raised)
	return run.Day{Date: f.Day, Budget: b}, u.Spent, err
}
