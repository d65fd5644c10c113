package bus

import (
	"fmt"
	"strconv"
	"strings"
)

// First tokens of what the streams store, and of control messages.
const (
	prefixTask    = "task"
	prefixLog     = "ev"
	prefixObject  = "obj"
	prefixCache   = "cache"
	prefixLease   = "lease"
	prefixControl = "ctl"
	// prefixPresence is of what workers and conductors say of themselves every few seconds; nothing stores it.
	prefixPresence = "pres"
)

// maxSubject bounds a subject; the server's limit for a whole protocol line is 4096 bytes.
const maxSubject = 1024

// ValidToken reports whether s can be one token of a subject: a role, a run, a task, a kind. It is [A-Za-z0-9_-]+.
func ValidToken(s string) bool {
	for i := range len(s) {
		if !tokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

// TaskSubject is where a task waits for a worker: task.<role>.<run>.<task>. A name that is no valid token makes a
// subject that every method refuses with ErrSubject; so do the other builders.
func TaskSubject(role, run, task string) string { return subject(prefixTask, role, run, task) }

// TaskFilter matches every task of a run, whatever its role: task.*.<run>.> .
func TaskFilter(run string) string { return subject(prefixTask) + ".*." + token(run) + ".>" }

// ConductorSubject is where a run's conductor appends: ev.<run>.m.<kind>.
func ConductorSubject(run, kind string) string { return subject(prefixLog, run, "m", kind) }

// AttemptSubject is where a worker appends what an attempt leaves: ev.<run>.a.<worker>.<role>.<task>.<attempt>.
func AttemptSubject(run, worker, role, task string, attempt int) string {
	return subject(prefixLog, run, "a", worker, role, task, strconv.Itoa(attempt))
}

// AttemptFilter matches what all workers appended of an attempt, and is its fence: ev.<run>.a.*.<role>.<task>.<attempt>.
func AttemptFilter(run, role, task string, attempt int) string {
	return subject(prefixLog, run, "a") + ".*." + token(role) + "." + token(task) + "." + strconv.Itoa(attempt)
}

// taskOf is where the attempt waited that an event is of: task.<role>.<run>.<task>--<attempt>. Empty for other events.
func taskOf(event string) string {
	t := strings.Split(event, ".")
	if len(t) != 7 || t[2] != "a" {
		return ""
	}
	return strings.Join([]string{prefixTask, t[4], t[1], t[5] + "--" + t[6]}, ".")
}

// OfAttempt reports whether a subject is one that AttemptSubject makes. Others may be in a store: who writes there may lie.
func OfAttempt(event string) bool {
	t := strings.Split(event, ".")
	if len(t) != 7 || t[2] != "a" || checkSubject(event, prefixLog) != nil {
		return false
	}
	attempt, err := strconv.Atoi(t[6])
	return err == nil && attempt > 0 && strconv.Itoa(attempt) == t[6]
}

// eventsOf is where a worker appends what it does for a task of the queue.
func eventsOf(task, worker string) string {
	t := strings.Split(task, ".")
	name := t[len(t)-1]
	dash := strings.LastIndex(name, "--")
	if len(t) != 4 || dash < 0 {
		return ""
	}
	return strings.Join([]string{prefixLog, t[2], "a", worker, t[1], name[:dash], name[dash+2:]}, ".")
}

// RunFilter matches a run's whole log: ev.<run>.> .
func RunFilter(run string) string { return subject(prefixLog, run) + ".>" }

// ConductorFilter matches what a run's conductor appended: ev.<run>.m.> .
func ConductorFilter(run string) string { return subject(prefixLog, run, "m") + ".>" }

// ControlSubject carries short-lived commands to the workers of a run: ctl.<run>.all. Its last token is a literal: who may
// listen to ctl.*.all may not listen to more, as who may listen to ctl.* could to ctl.> .
func ControlSubject(run string) string { return subject(prefixControl, run, "all") }

// RequestSubject is where a person asks the conductor of a run: ctl.<run>.conductor.<who>. Who asks is what the subject says.
func RequestSubject(run, who string) string { return subject(prefixControl, run, "conductor", who) }

// RequestFilter matches the requests of all people: ctl.<run>.conductor.* .
func RequestFilter(run string) string { return subject(prefixControl, run, "conductor") + ".*" }

// ActiveSubject is where workers report their active tasks of a run, the subject of each: ctl.<run>.active.
func ActiveSubject(run string) string { return subject(prefixControl, run, "active") }

// WorkerPresence is where a worker reports what it is and has: pres.w.<worker>.
func WorkerPresence(worker string) string { return subject(prefixPresence, "w", worker) }

// RunPresence is where the conductor of a run reports that it takes workers: pres.r.<run>.
func RunPresence(run string) string { return subject(prefixPresence, "r", run) }

// PresenceAsk has every worker and conductor say so at once: pres.ask.
func PresenceAsk() string { return subject(prefixPresence, "ask") }

// WorkersPresent and RunsPresent match the presence of all: pres.w.* and pres.r.* .
func WorkersPresent() string { return subject(prefixPresence, "w") + ".*" }

// RunsPresent is described with WorkersPresent.
func RunsPresent() string { return subject(prefixPresence, "r") + ".*" }

// CallSubject is where a worker calls the conductor of a run: ctl.<run>.conduct.<worker>. Who calls is what the subject says.
func CallSubject(run, worker string) string { return subject(prefixControl, run, "conduct", worker) }

// CallFilter matches the calls of all workers: ctl.<run>.conduct.* .
func CallFilter(run string) string { return subject(prefixControl, run, "conduct") + ".*" }

// Caller is who makes a call or a request, by its subject.
func Caller(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// RecallSubject is where a conductor has workers return what they do not need of the budget of a run: pres.recall.<run>.
func RecallSubject(run string) string { return subject(prefixPresence, "recall", run) }

// LimitsSubject is where a worker tells the others that a service has asked callers to wait: pres.limits.<worker>.
func LimitsSubject(worker string) string { return subject(prefixPresence, "limits", worker) }

// LimitsFilter matches what all workers tell so: pres.limits.* .
func LimitsFilter() string { return subject(prefixPresence, "limits") + ".*" }

// FreedSubject is where the host has all drop what a worker told them so: pres.freed.<worker>.
func FreedSubject(worker string) string { return subject(prefixPresence, "freed", worker) }

// FreedFilter matches that for all workers: pres.freed.* .
func FreedFilter() string { return subject(prefixPresence, "freed") + ".*" }

// WorkerControl is where a worker listens to what is asked of it: ctl.worker.<worker>.
func WorkerControl(worker string) string { return subject(prefixControl, "worker", worker) }

func subject(first string, rest ...string) string {
	var b strings.Builder
	b.WriteString(first)
	for _, t := range rest {
		b.WriteByte('.')
		b.WriteString(token(t))
	}
	return b.String()
}

// token marks a bad name so that it can neither be mistaken for a good one nor reach over into another subject.
func token(s string) string {
	if ValidToken(s) {
		return s
	}
	return "!" + strconv.Quote(s)
}

func tokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// checkSubject accepts a literal subject whose first token is prefix.
func checkSubject(s, prefix string) error {
	return checkTokens(s, prefix, func(t string, _ bool) bool { return ValidToken(t) })
}

// checkFilter accepts a subject in which tokens after the first may be * and the last one >.
func checkFilter(s, prefix string) error {
	return checkTokens(s, prefix, func(t string, last bool) bool {
		return ValidToken(t) || t == "*" || last && t == ">"
	})
}

func checkTokens(s, prefix string, ok func(t string, last bool) bool) error {
	if len(s) > maxSubject {
		return fmt.Errorf("%w: %.60q… has more than %d bytes", ErrSubject, s, maxSubject)
	}
	first, rest, more := strings.Cut(s, ".")
	if first != prefix || !more {
		return fmt.Errorf("%w: %q does not start with %s and a dot", ErrSubject, s, prefix)
	}
	tokens := strings.Split(rest, ".")
	for i, t := range tokens {
		if !ok(t, i == len(tokens)-1) {
			return fmt.Errorf("%w: %q at token %d (letters, digits, - and _ only)", ErrSubject, s, i+2)
		}
	}
	return nil
}

// checkControl accepts a literal subject that no stream stores, so that a control message can never pass for an event.
func checkControl(s string) error {
	first, _, _ := strings.Cut(s, ".")
	if first == prefixTask || first == prefixLog || first == prefixObject || first == prefixCache ||
		first == prefixLease {
		return fmt.Errorf("%w: %q belongs to a stream", ErrSubject, s)
	}
	return checkSubject(s, first)
}

// checkListen accepts a filter of presences, or a control subject, whose last token may be * for all who ask.
func checkListen(s string) error {
	if strings.HasPrefix(s, prefixPresence+".") {
		return checkFilter(s, prefixPresence)
	}
	return checkControl(strings.TrimSuffix(s, ".*"))
}

// isInbox reports whether a subject is one for answers. Who asks chooses it, and who answers may have more rights.
func isInbox(s string) bool {
	return strings.HasPrefix(s, "_INBOX") || strings.HasPrefix(s, "_JOIN_")
}

// covers reports whether filter matches subject; both are well formed.
func covers(filter, subject string) bool {
	want, have := strings.Split(filter, "."), strings.Split(subject, ".")
	for i, w := range want {
		switch {
		case i >= len(have):
			return false
		case w == ">":
			return true
		case w != "*" && w != have[i]:
			return false
		}
	}
	return len(want) == len(have)
}
