package wire

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
)

func presenceOf(t *testing.T, p Presence) []byte {
	t.Helper()
	data, err := json.Marshal(p)
	require.NoError(t, err)
	return data
}

func TestAPresenceIsItsSubjects(t *testing.T) {
	t.Parallel()
	key := make([]byte, ed25519.PublicKeySize)
	good := Presence{Worker: "w1", Key: key, Places: Places{Agents: 3, Gates: 1}}
	p, err := DecodePresence(bus.Message{Subject: "pres.w.w1", Data: presenceOf(t, good)})
	require.NoError(t, err)
	require.Equal(t, good, *p)
	short, negative, many := good, good, good
	short.Key, negative.Gates, many.Agents = key[1:], -1, 1001
	for want, m := range map[string]bus.Message{
		`of worker "w1"`:                     {Subject: "pres.w.w2", Data: presenceOf(t, good)},
		"has 31 bytes":                       {Subject: "pres.w.w1", Data: presenceOf(t, short)},
		"gates: -1 is not from 0 to 1000":    {Subject: "pres.w.w1", Data: presenceOf(t, negative)},
		"agents: 1001 is not from 0 to 1000": {Subject: "pres.w.w1", Data: presenceOf(t, many)},
		"invalid character":                  {Subject: "pres.w.w1", Data: []byte("x")},
	} {
		_, err := DecodePresence(m)
		require.ErrorContains(t, err, want)
	}
}

// A conductor keeps of a worker what its own run needs: the rest may be as much as a message has.
func TestAConductorKeepsLittleOfAPresence(t *testing.T) {
	t.Parallel()
	p := Presence{
		Worker: "w1", Version: "v", Protocol: 3, Key: []byte("key"), State: WorkerReady, Places: Places{Agents: 1}, Incompatible: "why",
		Programs: map[string]string{"go": "1"}, Environments: []string{"e"}, Tags: []string{"t"},
		Runs: map[string]Service{"r": {Serves: []string{"reader"}}, "other": {Base: "b"}},
	}
	require.Equal(t, &Presence{
		Worker: "w1", Version: "v", Protocol: 3, State: WorkerReady, Places: Places{Agents: 1}, Incompatible: "why",
		Runs: map[string]Service{"r": {Serves: []string{"reader"}}},
	}, p.Of("r"))
	require.Nil(t, p.Of("none").Runs, "it does not know the run")
}

func TestEnlistmentCheck(t *testing.T) {
	t.Parallel()
	good := Enlistment{Worker: "w1", Protocol: Protocol, Key: make([]byte, ed25519.PublicKeySize), Places: Places{Agents: 1, Gates: 1}}
	require.NoError(t, good.Check(NewConducting("r", "v1")))
	before := good
	before.Protocol--
	conducts := NewConducting("r", "v1")
	conducts.Oldest = Protocol
	require.ErrorContains(t, before.Check(conducts), fmt.Sprintf("speaks version %d of the protocol", Protocol-1))
	conducts.Oldest = Protocol - 1
	require.NoError(t, before.Check(conducts), "one that the conductor understands")
	for want, change := range map[string]func(*Enlistment){
		"is no name": func(e *Enlistment) { e.Worker = "a.b" },
		fmt.Sprintf("speaks version %d", Protocol+1): func(e *Enlistment) { e.Protocol = Protocol + 1 },
		fmt.Sprintf("speaks version %d", oldest-1):   func(e *Enlistment) { e.Protocol = oldest - 1 },
		"has 0 bytes":                        func(e *Enlistment) { e.Key = nil },
		"agents: 1001 is not from 0 to 1000": func(e *Enlistment) { e.Agents = 1001 },
		"gates: -1 is not from 0 to 1000":    func(e *Enlistment) { e.Gates = -1 },
	} {
		e := good
		change(&e)
		require.ErrorContains(t, e.Check(NewConducting("r", "v1")), want)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	of := func(name string, state WorkerState, serves string, lacks ...string) *Presence {
		s := Service{Serves: strings.Fields(serves)}
		if len(lacks) > 0 {
			s.Lacks = map[string][]string{"mod": lacks}
		}
		return &Presence{Worker: name, State: state, Runs: map[string]Service{"r": s}}
	}
	far, near := of("far", WorkerReady, "", "a", "b"), of("near", WorkerPaused, "tester", "a")
	name, lacks, served := Nearest([]*Presence{far, near}, "r", "mod")
	require.False(t, served)
	require.Equal(t, "near", name)
	require.Equal(t, []string{"a"}, lacks)
	_, _, served = Nearest([]*Presence{far, near}, "r", "tester")
	require.True(t, served, "a pause ends by itself")
	_, _, served = Nearest([]*Presence{of("gone", WorkerDraining, "mod")}, "r", "mod")
	require.False(t, served)
	name, _, _ = Nearest([]*Presence{far}, "other", "mod")
	require.Empty(t, name)
}
