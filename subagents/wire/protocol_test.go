package wire

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
)

// A run is pinned to the protocol of its conductor: what is to change is the worker.
func TestAConductorTakesItsProtocolAndTheOneBefore(t *testing.T) {
	t.Parallel()
	c := Conducting{Run: "r1", Version: "v5", Protocol: 5, Oldest: 4}
	for protocol, takes := range map[int]bool{3: false, 4: true, 5: true, 6: false} {
		require.Equal(t, takes, c.Incompatible("w1", "v1", protocol) == "", protocol)
	}
	require.Equal(t, "worker w1 is incompatible: it speaks version 6 of the protocol (Divisi v6), and run r1 version 5. "+
		"Install Divisi v5 on the worker's machine and start it again", c.Incompatible("w1", "v6", 6))
	c.Run = ""
	require.Contains(t, c.Incompatible("w1", "v6", 6), "and this machine version 5.")
}

func TestAWorkerThatNoConductorTakesIsIncompatible(t *testing.T) {
	t.Parallel()
	older, newer := Conducting{Run: "old", Protocol: 3}, Conducting{Run: "new", Protocol: 5}
	for protocol, want := range map[int]WorkerState{1: WorkerIncompatible, 2: WorkerReady, 4: WorkerReady, 5: WorkerReady, 6: WorkerIncompatible} {
		p := &Presence{Worker: "w1", Protocol: protocol, State: WorkerReady, Runs: map[string]Service{"old": {Serves: []string{"mod"}}}}
		p.Meet(older, newer)
		require.Equal(t, want, p.State, protocol)
		require.Equal(t, want == WorkerIncompatible, p.Incompatible != "", protocol)
		_, _, served := Nearest([]*Presence{p}, "old", "mod")
		require.Equal(t, want == WorkerReady, served, "it serves nothing, whatever it says")
	}
	p := &Presence{State: WorkerReady}
	p.Meet()
	require.Equal(t, WorkerReady, p.State)
}

// What a program of version 3 says is read by each later one, to the word of what to do about it.
func TestWhatTheVersionBeforeSaysIsRead(t *testing.T) {
	t.Parallel()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata", name+"-3.json"))
		require.NoError(t, err)
		return data
	}
	here := NewConducting("r1", "v1.0.0")
	p, err := DecodePresence(bus.Message{Subject: bus.WorkerPresence("w1"), Data: read("presence")})
	require.NoError(t, err)
	p.Meet(here)
	require.Equal(t, WorkerIncompatible, p.State)
	require.Equal(t, "worker w1 is incompatible: it speaks version 3 of the protocol (Divisi v0.9.0), and run r1 version 14. "+
		"Install Divisi v1.0.0 on the worker's machine and start it again", p.Incompatible)
	var e Enlistment
	require.NoError(t, json.Unmarshal(read("enlistment"), &e))
	require.EqualError(t, e.Check(here), p.Incompatible)
	c, ok := DecodeConducting(bus.Message{Subject: bus.RunPresence("r1"), Data: read("conducting")})
	require.True(t, ok)
	require.Equal(t, "worker w2 is incompatible: it speaks version 14 of the protocol (Divisi v1.0.0), and run r1 version 3. "+
		"Install Divisi v0.9.0 on the worker's machine and start it again", c.Incompatible("w2", "v1.0.0", Protocol))
}
