package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"divisi/internal/model/record"
	"divisi/internal/spec"
	"divisi/orchestrator/console"
	"divisi/orchestrator/run"
)

// tape is what becomes of a run's exchanges with its models: recorded, replayed, or neither. The zero value is neither.
type tape struct {
	// to is the directory of --record.
	to     string
	replay *record.Replay

	mu     sync.Mutex
	differ []record.Difference
	lost   int // exchanges that could not be kept
}

func (o *runOptions) tapeFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.record, "record", "", "keep every exchange with a model in this directory, for --replay")
	f.StringVar(&o.replay, "replay", "", "answer from this recording instead of a model's service: no key, no network")
}

// openTape opens the recording that is to be replayed. One that is to be made begins with the run.
func (h *holder) openTape(o runOptions) error {
	h.tape = &tape{to: o.record}
	if o.replay == "" {
		return nil
	}
	if o.record != "" {
		return usagef("--record and --replay at once: a replay makes no exchanges that are not recorded already")
	}
	var err error
	h.tape.replay, err = record.Load(o.replay, secrets(&h.spec), func(d record.Difference) { h.tape.differs(h.g, d) })
	if err != nil {
		return usagef("--replay: %v", err)
	}
	return nil
}

// differs takes in that a request differs. Once an agent has asked otherwise all that it asks later does, so the log shouts only
// once.
func (t *tape) differs(g *globals, d record.Difference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	level := zerolog.WarnLevel
	if slices.ContainsFunc(t.differ, func(before record.Difference) bool {
		return before.Meta.Task == d.Meta.Task && before.Meta.Attempt == d.Meta.Attempt
	}) {
		level = zerolog.InfoLevel
	}
	t.differ = append(t.differ, d)
	g.log.WithLevel(level).Str("task", d.Meta.Task).Int("attempt", d.Meta.Attempt).Int("turn", d.Meta.Turn).
		Str("purpose", d.Meta.Purpose).Str("file", d.File).Msg("a request differs from the recorded one: " + d.What)
}

// recorder begins the recording; nil where none is wanted.
func (h *holder) recorder() (*record.Recorder, error) {
	t := h.tape
	if t.to == "" {
		return nil, nil
	}
	r, err := record.Open(record.Options{Dir: t.to, Run: h.run, Secrets: secrets(&h.spec), OnError: func(err error) {
		h.g.log.Error().Err(err).Msg("the recording has a gap")
		t.mu.Lock()
		defer t.mu.Unlock()
		t.lost++
	}})
	if err != nil {
		return nil, usagef("--record: %v", err)
	}
	return r, nil
}

// tell says at a run's end how its recording or replay fared. With JSON the log has said it.
func (t *tape) tell(g *globals) {
	for _, notice := range t.notices() {
		if !g.json() {
			fmt.Fprintln(g.out, console.Sanitize(notice))
		}
	}
}

// notices are what a person should know of the recording or the replay, as far as it has come.
func (t *tape) notices() (list []string) {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.differ); n > 0 {
		list = append(list, fmt.Sprintf("replay: %d of the requests differ from the recording; the first: %s", n, t.differ[0]))
	}
	if t.lost > 0 {
		list = append(list, fmt.Sprintf("record: %d of the exchanges could not be kept in %s: a replay will end there",
			t.lost, t.to))
	}
	return list
}

// secrets are the values in Divisi's own environment that look like secrets, and those that the run names as such: the keys of
// models, secrets of roles, headers of tool servers.
func secrets(s *run.Spec) []string {
	given := map[string]bool{}
	for _, m := range s.Project.Models {
		given[m.KeyEnv] = true
	}
	for _, role := range s.Roles {
		for _, name := range role.Secrets {
			given[name] = true
		}
		for _, server := range s.Project.Servers(&role) {
			for name := range maps.Values(server.Headers) {
				given[name] = true
			}
		}
	}
	var out []string
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); given[name] || spec.SecretName(name) {
			out = append(out, value)
		}
	}
	return out
}
