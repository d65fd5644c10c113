package wire

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// Presence is a worker's report about itself every few seconds on bus.WorkerPresence.
type Presence struct {
	Worker   string `json:"worker"`
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	// Key is the public key that its receipts are signed with.
	Key []byte `json:"key"`
	// State is its readiness for new work; Until is when a pause ends.
	State WorkerState `json:"state"`
	Until time.Time   `json:"until,omitzero"`
	// Short is the missing resource of its machine, for as long as it takes nothing because of that.
	Short string    `json:"short,omitempty"`
	Since time.Time `json:"since"`
	Tags  []string  `json:"tags,omitempty"`
	// System is its operating system and architecture; Memory and Disk are bytes, Disk what is left.
	System string `json:"system"`
	Cores  int    `json:"cores"`
	Memory uint64 `json:"memory,omitempty" maximum:"1152921504606846976"`
	Disk   uint64 `json:"disk,omitempty" maximum:"1152921504606846976"`
	// Sandbox is how commands are confined there, Programs are what it found of the programs that runs need, with versions.
	Sandbox  string            `json:"sandbox"`
	Programs map[string]string `json:"programs,omitempty"`
	// Environments are the digests of those that it has.
	Environments []string `json:"environments,omitempty"`
	Places
	// Runs are those that it knows of.
	Runs map[string]Service `json:"runs,omitempty"`
	// Limits are those of model services that it keeps to, each with the worker that told it.
	Limits []spec.Wait `json:"limits,omitempty"`
	// Said is the answer to the newest call of a person: a worker may publish to no inbox.
	Said json.RawMessage `json:"said,omitempty"`
	// Incompatible is why no conductor can work with it: set by Meet, and never sent by a worker.
	Incompatible string `json:"incompatible,omitempty"`
}

// Places are how much a worker does at once: agents, and runs of gates.
type Places struct {
	Agents int `json:"agents" maximum:"1000"`
	Gates  int `json:"gates" maximum:"1000"`
}

// Service is a worker's work for one run.
type Service struct {
	// Serves are the roles whose tasks it takes; Lacks says of each other role what it would need.
	Serves []string            `json:"serves,omitempty"`
	Lacks  map[string][]string `json:"lacks,omitempty"`
	// Base is the commit that the run starts from, which the worker has; At are the attempts that it works on.
	Base string   `json:"base,omitempty"`
	At   []string `json:"at,omitempty"`
}

// WorkerState is a worker's readiness for new work.
type WorkerState string

// A worker takes what it can do; takes nothing for a time, or while its machine lacks something; takes nothing more and ends;
// speaks another protocol.
const (
	WorkerReady        WorkerState = "ready"
	WorkerPaused       WorkerState = "paused"
	WorkerLacking      WorkerState = "lacking"
	WorkerDraining     WorkerState = "draining"
	WorkerIncompatible WorkerState = "incompatible"
)

const (
	// PresentEvery is how often workers and conductors say that they are there.
	PresentEvery = 5 * time.Second
	// PresentFor is how long one that said so counts as there.
	PresentFor = 3 * PresentEvery
)

// DecodePresence reads what a worker said of itself. What another one says under its subject is refused.
func DecodePresence(m bus.Message) (*Presence, error) {
	var p Presence
	err := json.Unmarshal(m.Data, &p)
	switch {
	case err != nil:
	case bus.WorkerPresence(p.Worker) != m.Subject:
		err = fmt.Errorf("it says that it is of worker %.80q", p.Worker)
	case len(p.Key) != ed25519.PublicKeySize:
		err = fmt.Errorf("its key has %d bytes", len(p.Key))
	default:
		err = spec.Bounds(&p)
	}
	if err != nil {
		return nil, fmt.Errorf("read the presence on %.120s: %w", m.Subject, err)
	}
	p.Incompatible, p.Short = "", Lacking(p.Short)
	for i, w := range p.Limits {
		p.Limits[i] = w.Taken(time.Now())
	}
	return &p, nil
}

// Of is the conductor's record of it: a worker says as much as it wants.
func (p *Presence) Of(run string) *Presence {
	kept := &Presence{
		Worker: p.Worker, Version: p.Version, Protocol: p.Protocol, State: p.State, Places: p.Places,
		Incompatible: p.Incompatible, Short: p.Short,
	}
	if s, knows := p.Runs[run]; knows {
		kept.Runs = map[string]Service{run: s}
	}
	return kept
}

// maxLacking bounds, in characters, what a worker reports that its machine lacks.
const maxLacking = 300

// Lacking is a worker's report of its machine's missing resources, as people may be shown it.
func Lacking(why string) string { return text.Short(text.OneLine(why), maxLacking) }

// WhyLacking reports each worker whose machine lacks something what that is; "" for none.
func WhyLacking(workers []*Presence) string {
	var why []string
	for _, p := range workers {
		if p.State == WorkerLacking {
			why = append(why, fmt.Sprintf("worker %s lacks %s", p.Worker, p.Short))
		}
	}
	return strings.Join(text.Few(why, maxRefused), "; ")
}

// Enlistment asks the conductor of a run to count on a worker.
type Enlistment struct {
	Worker   string `json:"worker"`
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Key      []byte `json:"key"`
	// Since is when its process began, by its own clock: it tells two of them apart.
	Since time.Time `json:"since,omitzero"`
	Places
	// Holding is its share of the run's budget, nil without one.
	Holding *Holding `json:"holding,omitempty"`
	// Limits are the rate limits that services told it: a conductor that has just begun knows none.
	Limits []spec.Wait `json:"limits,omitempty"`
}

// Check returns why a conductor cannot count on the worker.
func (e *Enlistment) Check(c Conducting) error {
	if why := c.Incompatible(e.Worker, e.Version, e.Protocol); bus.ValidToken(e.Worker) && why != "" {
		return errors.New(why)
	}
	switch {
	case !bus.ValidToken(e.Worker):
		return fmt.Errorf("%.80q is no name of a worker", e.Worker)
	case len(e.Key) != ed25519.PublicKeySize:
		return fmt.Errorf("the key of worker %s has %d bytes", e.Worker, len(e.Key))
	case e.Holding != nil && e.Holding.Worker != e.Worker:
		return fmt.Errorf("worker %s says what worker %.80q has of the budget", e.Worker, e.Holding.Worker)
	}
	return spec.Bounds(e)
}

// Nearest returns the worker of some that lacks least of what a role of a run needs, and what it lacks; "" where none of them
// knows the run. served reports that a worker serves the role.
func Nearest(workers []*Presence, run, role string) (worker string, lacks []string, served bool) {
	for _, p := range workers {
		s, knows := p.Runs[run]
		switch l := s.Lacks[role]; {
		case p.State == WorkerDraining || p.State == WorkerIncompatible || p.State == WorkerLacking || !knows:
		case slices.Contains(s.Serves, role):
			return p.Worker, nil, true
		case len(l) > 0 && (worker == "" || len(l) < len(lacks)):
			worker, lacks = p.Worker, l
		}
	}
	return worker, lacks, false
}

// Sorted returns workers by name.
func Sorted(workers map[string]*Presence) []*Presence {
	list := make([]*Presence, 0, len(workers))
	for _, name := range slices.Sorted(maps.Keys(workers)) {
		list = append(list, workers[name])
	}
	return list
}

// LocalName is the name of the worker in the process of a run.
const LocalName = "local"
