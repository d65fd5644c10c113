package hub

import (
	"context"
	"crypto/ed25519"
	"sync"
	"time"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

const (
	// turnedFor is how long one that the server has not let in, as it speaks another version, is listed.
	turnedFor = 10 * time.Minute
	maxTurned = 1000
)

// turned are the members that the server does not let in, as they speak another version. It says of workers that they are there.
type turned struct {
	speaks  bus.Version // the server's
	notice  func(string)
	mu      sync.Mutex
	members map[string]turnedMember
}

type turnedMember struct {
	role     member.Role
	speaks   bus.Version
	at, told time.Time
	fits     bool
}

// met is the hook of bus.Options. It tells a person once of each member and version, and of one member once a minute.
func (t *turned) met(m member.Member, there bus.Version, why string) {
	t.mu.Lock()
	before, known := t.members[m.Name]
	is := turnedMember{m.Role, there, depot.Now(), before.told, why == ""}
	kept := known || !is.fits && len(t.members) < maxTurned
	tell := kept && !is.fits && (!known || before.speaks != there) && is.at.Sub(is.told) > time.Minute
	if tell {
		is.told = is.at
	}
	if kept {
		t.members[m.Name] = is
	}
	t.mu.Unlock()
	if tell {
		t.notice("the server does not let " + m.String() + " in: it is incompatible: " + there.String() + ". The server is " +
			t.speaks.String() + ". Install Divisi " + t.speaks.Program + " on its machine")
	}
}

// say reports that the workers are there, and incompatible.
func (t *turned) say(ctx context.Context, p *depot.Place, b *bus.Bus) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, w := range t.members {
		if depot.Now().Sub(w.at) > turnedFor {
			delete(t.members, name)
		}
		if w.fits || depot.Now().Sub(w.at) > turnedFor || w.role != member.Worker {
			continue
		}
		p.Say(ctx, b, bus.WorkerPresence(name), wire.Presence{
			Worker: name, Version: w.speaks.Program, Protocol: w.speaks.Protocol, State: wire.WorkerIncompatible, Since: w.at,
			Key: make([]byte, ed25519.PublicKeySize), // it has not told its own
		})
	}
}
