package act

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/request"
	"divisi/subagents/wire"
)

// Request asks a run for an act: it is how every door hands one on, and what crosses to the process that has the run.
type Request struct {
	Act  string          `json:"act"`
	Args json.RawMessage `json:"args,omitempty"`
	// With is prepared by the asking process, such as a patch. No door takes it from a person or a program.
	With json.RawMessage `json:"with,omitempty"`
	// By is the identity of the person who asks; "" for the conductor's own.
	By string `json:"by,omitempty"`
	// Held is set where a person has sent it by hand: see ByHand.
	Held bool `json:"held,omitempty"`
	// Waits is how long the caller waits, 0 for always: a conductor that comes to the request later leaves it undone, because the
	// caller was told that it was not done, and asks again.
	Waits time.Duration `json:"waits_ns,omitempty"`

	// Run is the run that a door asks; From is the member for which a host asks, "" for this process itself.
	Run  string `json:"-"`
	From string `json:"-"`
}

// Outcome is the result of an act.
type Outcome struct {
	Text string `json:"text,omitempty"`
	// Held are the ids under which the run holds it back.
	Held []string `json:"held,omitempty"`

	// Changed are the roles and settings that have changed since the run read them. Begins reports that a process has to go on
	// with the run.
	Changed []string `json:"-"`
	Notes   []string `json:"-"`
	Begins  bool     `json:"-"`
}

// NewRequest is a request for an act. The error is a *request.RefusedError where its arguments lack something, or are too much.
func NewRequest(a Args, by string) (q Request, err error) {
	held, byHand := a.(Held)
	if byHand {
		a = held.Args
	}
	q = Request{Act: a.Act(), By: by, Held: byHand}
	if err = check(a); err != nil {
		return q, err
	}
	if q.Args, err = json.Marshal(a); err == nil {
		if with := table[q.Act].with(a); with != nil {
			q.With, err = json.Marshal(with)
		}
	}
	if err != nil {
		return q, fmt.Errorf("encode the request to %s: %w", q.Act, err)
	}
	return q, nil
}

// With are its arguments, of what a door was given.
func (e *Entry) With(given map[string]any) (Args, error) {
	data, err := spec.JSON(given)
	if err != nil {
		return nil, err
	}
	return Request{Act: e.Name, Args: data}.Read(Local)
}

// Read returns the arguments of a request from a caller. The error is a *request.RefusedError: the act is not known or not for
// the caller, or it has no such arguments, needs others, or has bounds for them.
func (q Request) Read(who Caller) (Args, error) {
	e := table[q.Act]
	if e == nil {
		return nil, request.Refusedf("unknown act %.40q: another version of Divisi may know it", Public(q.Act))
	}
	if err := e.May(who); err != nil {
		return nil, err
	}
	a, err := e.read(q.Args, q.With)
	if err == nil {
		err = check(a)
	}
	return a, err
}

// Task is the one task that a request names; "" where that is none, several, or cannot be read.
func (q Request) Task() string {
	var named struct {
		Task  string   `json:"task"`
		Tasks []string `json:"tasks"`
	}
	switch err := json.Unmarshal(q.Args, &named); {
	case err != nil:
		return ""
	case named.Task == "" && len(named.Tasks) == 1:
		return named.Tasks[0]
	}
	return named.Task
}

func decode(data json.RawMessage, into any) error {
	if len(data) == 0 {
		return nil
	}
	if err := wire.Decode(data, into); err != nil {
		return err
	}
	return spec.Bounds(into)
}

const (
	// maxText bounds a text among arguments, in bytes: a brief has as many.
	maxText = 64 << 10
	// maxList bounds the elements of a list.
	maxList = 10_000
)

func checkText(a Args, name, text string) error {
	switch {
	case len(text) > maxText:
		return request.Refusedf("the %s of %s has %d bytes; at most %d are allowed", name, a.Act(), len(text), maxText)
	case strings.ContainsRune(text, 0):
		return request.Refusedf("the %s of %s has a NUL character", name, a.Act())
	}
	return nil
}

// check refuses arguments that lack what their act needs, and what is too much.
func check(a Args) error {
	v := reflect.ValueOf(a)
	for f, field := range v.Fields() {
		name, optional, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		kind := field.Kind()
		switch list := kind == reflect.Slice; {
		case optional == "" && (list || kind == reflect.String) && field.Len() == 0:
			name = strings.TrimSuffix(name, "s")
			article := "a"
			if strings.ContainsRune("aeiou", rune(name[0])) {
				article = "an"
			}
			return request.Refusedf("%s needs %s %s", a.Act(), article, name)
		case list && field.Len() > maxList:
			return request.Refusedf("%s takes at most %d %s, not %d", a.Act(), maxList, name, field.Len())
		}
		texts, _ := field.Interface().([]string)
		if kind == reflect.String {
			texts = []string{field.String()}
		}
		for _, text := range texts {
			if err := checkText(a, strings.TrimSuffix(name, "s"), text); err != nil {
				return err
			}
		}
	}
	return nil
}
