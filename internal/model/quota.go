package model

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"divisi/internal/lazyregexp"
)

// What services say of quotas in words alone.
var (
	saysWhen = lazyregexp.New(`(?i)\b(?:(?:retry|try again) in|reset after) ((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)`)
	saysZero = lazyregexp.New(`(?i)\blimit: ?0(?:\.0+)?(?:[^\d.]|\.?$|\.\D)`)
	saysFull = lazyregexp.New(`(?i)exhausted your capacity on this model|no capacity (?:is )?available for (?:this )?model`)
	saysName = lazyregexp.New(`(?i)quota exceeded for metric: ([\w./-]*\w)`)
)

// DelayIn is how long a message of a service asks to wait; 0 when it does not say.
func DelayIn(message string) time.Duration {
	m := saysWhen.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	wait, err := time.ParseDuration(m[1])
	if err != nil {
		return 0 // more digits than a duration has
	}
	return wait
}

// apiFault is an error as the API writes it.
type apiFault struct {
	Code    int         `json:"code"`
	Message string      `json:"message"`
	Status  string      `json:"status"`
	Details []apiDetail `json:"details"`
}

// apiDetail is the union of the details that matter here.
type apiDetail struct {
	Type       string           `json:"@type"`
	RetryDelay string           `json:"retryDelay"`
	Reason     string           `json:"reason"`
	Violations []quotaViolation `json:"violations"`
}

type quotaViolation struct {
	QuotaID     string `json:"quotaId"`
	QuotaMetric string `json:"quotaMetric"`
	QuotaValue  string `json:"quotaValue"`
}

// parseFault reads an error body: an object, a list of one (what the API sends without SSE), or anything else as text.
func parseFault(body []byte) apiFault {
	type envelope struct {
		Error *apiFault `json:"error"`
	}
	var one envelope
	if json.Unmarshal(body, &one) == nil && one.Error != nil {
		return *one.Error
	}
	var list []envelope
	if json.Unmarshal(body, &list) == nil && len(list) > 0 && list[0].Error != nil {
		return *list[0].Error
	}
	return apiFault{Message: string(body)}
}

// retryDelay returns the delay of RetryInfo, else the Retry-After header, else the message, else zero.
func (f apiFault) retryDelay(h http.Header, now time.Time) time.Duration {
	for _, d := range f.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			return wait
		}
	}
	after := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(after, 64); err == nil && s > 0 && s < 1e7 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(after); err == nil {
		return max(0, at.Sub(now))
	}
	return DelayIn(f.Message)
}

// full reports whether the service has no room for the model at present: that is no quota of the caller's.
func (f apiFault) full() bool {
	return f.hasReason("MODEL_CAPACITY_EXHAUSTED") || f.hasReason("MODEL_CAPACITY_EXCEEDED") || saysFull.MatchString(f.Message)
}

func (f apiFault) hasReason(reason string) bool {
	for _, d := range f.Details {
		if d.Reason == reason {
			return true
		}
	}
	return false
}

// quota names the exceeded quota and reports whether it is one that a short wait cannot help: per day, a limit of zero, or
// a spending limit. The worst of several wins.
func (f apiFault) quota() (id string, kind quotaKind) {
	for _, d := range f.Details {
		for _, v := range d.Violations {
			name := v.QuotaID
			if name == "" {
				name = v.QuotaMetric
			}
			if k := v.kind(); id == "" || k > kind {
				id, kind = name, k
			}
		}
	}
	if m := saysName.FindStringSubmatch(f.Message); m != nil && id == "" {
		id = m[1]
		kind = quotaViolation{QuotaMetric: id}.kind()
	}
	if saysZero.MatchString(f.Message) {
		kind = quotaZero
	}
	if kind == quotaShort && strings.Contains(strings.ToLower(f.Message), "spend") {
		kind = quotaSpend
	}
	if kind != quotaShort && id == "" {
		id = kind.word()
	}
	return id, kind
}

// quotaKind orders quotas by how little waiting helps.
type quotaKind int

const (
	quotaShort quotaKind = iota
	quotaSpend
	quotaDay
	quotaZero
)

func (k quotaKind) word() string {
	return [...]string{"rate", "spend", "per-day", "zero"}[k]
}

func (v quotaViolation) kind() quotaKind {
	all := strings.ToLower(v.QuotaID + " " + v.QuotaMetric)
	switch {
	case v.QuotaValue == "0":
		return quotaZero
	case strings.Contains(all, "perday") || strings.Contains(all, "per_day"):
		return quotaDay
	case strings.Contains(all, "spend"):
		return quotaSpend
	}
	return quotaShort
}

// wait is how long a quota that is not short is exhausted: the server's own delay is meant for the minute and misleads.
func (k quotaKind) wait(told time.Duration, now time.Time) time.Duration {
	switch k {
	case quotaSpend:
		return max(told, 10*time.Minute) // the window rolls over ten minutes
	case quotaDay:
		return max(told, untilMidnight(now))
	case quotaShort, quotaZero:
	}
	return told
}

// untilMidnight is the time to midnight in California, where the daily quotas are reset.
func untilMidnight(now time.Time) time.Duration {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		zone = time.FixedZone("PST", -8*60*60) // no time zone data on this machine: at most an hour off
	}
	t := now.In(zone)
	return time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, zone).Sub(t)
}
