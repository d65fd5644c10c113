package wire

import (
	"crypto/ed25519"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"divisi/bus/member"
	"divisi/internal/spec"
)

func login(t *testing.T, name string) *member.Login {
	t.Helper()
	key, err := nkeys.CreateUser()
	require.NoError(t, err)
	seed, err := key.Seed()
	require.NoError(t, err)
	return &member.Login{Name: name, Role: member.Person, Seed: string(seed)}
}

func mandate() Mandate {
	return Mandate{
		Run: "r1", Base: "b", Name: "app", Environment: "e", Content: "c",
		Project: spec.Project{Env: []string{"LANG"}, Setup: spec.Setup{Command: []string{"make", "deps"}}, Limits: spec.Limits{Time: spec.Duration(time.Minute)}},
		Roles: map[string]spec.Role{"mod": {
			Name: "mod", Command: []string{"sed"}, Output: json.RawMessage(`{ "type": "object" }`), Instruction: "no \xff UTF-8",
		}},
	}
}

// A person signs what a run may ask of workers: it counts as it was sent, under the person's own name and key, and for nothing else.
func TestAWarrantIsOfOneMandate(t *testing.T) {
	t.Parallel()
	w, err := mandate().Sign(login(t, "ada"))
	require.NoError(t, err)
	data, err := json.Marshal(mandate())
	require.NoError(t, err)
	var sent Mandate
	require.NoError(t, json.Unmarshal(data, &sent))
	require.NoError(t, w.Verify(sent))
	for what, change := range map[string]func(m *Mandate, w *Warrant){
		"run":         func(m *Mandate, _ *Warrant) { m.Run = "r2" },
		"base":        func(m *Mandate, _ *Warrant) { m.Base = "x" },
		"repository":  func(m *Mandate, _ *Warrant) { m.Name = "other" },
		"setup":       func(m *Mandate, _ *Warrant) { m.Project.Setup.Command = []string{"make", "evil"} },
		"a role":      func(m *Mandate, _ *Warrant) { m.Roles["more"] = spec.Role{Name: "more"} },
		"network":     func(m *Mandate, _ *Warrant) { m.Roles["mod"] = spec.Role{Name: "mod", Network: true} },
		"environment": func(m *Mandate, _ *Warrant) { m.Content = "poisoned" },
		"person":      func(_ *Mandate, w *Warrant) { w.Person = "bob" },
		"no key":      func(_ *Mandate, w *Warrant) { w.Key = "" },
		"signature":   func(_ *Mandate, w *Warrant) { w.Signature[0]++ },
	} {
		m, forged := mandate(), *w
		forged.Signature = append([]byte{}, w.Signature...)
		change(&m, &forged)
		require.ErrorContains(t, forged.Verify(m), "differs from the mandate", what)
	}
	other := login(t, "bob")
	forged := *w
	forged.Key, err = other.Key()
	require.NoError(t, err)
	require.Error(t, forged.Verify(mandate()), "another's key")
}

// A server that asks its client to prove who it is gets no signature of a run.
func TestALoginSignsANonceAlone(t *testing.T) {
	t.Parallel()
	l := login(t, "ada")
	_, err := l.Sign([]byte("x2bHTWQYd2rcPZk"))
	require.NoError(t, err)
	message, err := mandate().message("ada")
	require.NoError(t, err)
	for _, asked := range [][]byte{message, append([]byte("divisi vouches\n"), message...), {}, []byte("a b"), make([]byte, 200)} {
		_, err = l.Sign(asked)
		require.ErrorContains(t, err, "which is no nonce")
	}
}

func TestAnAssignmentIsSignedByItsRun(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	queued := func() *Assignment {
		return &Assignment{Run: "r1", Task: spec.Task{ID: "t"}, Attempt: 2, Group: "g", Object: "assignment-1"}
	}
	a := queued()
	require.NoError(t, a.Sign(private))
	require.NoError(t, a.Signed(public))
	for what, change := range map[string]func(a *Assignment){
		"run": func(a *Assignment) { a.Run = "r2" }, "task": func(a *Assignment) { a.Task.ID = "u" },
		"attempt": func(a *Assignment) { a.Attempt = 3 }, "object": func(a *Assignment) { a.Object = "assignment-2" },
		"group": func(a *Assignment) { a.Group = "h" }, "signature": func(a *Assignment) { a.Signature = nil },
	} {
		forged := queued()
		forged.Signature = append([]byte{}, a.Signature...)
		change(forged)
		require.ErrorContains(t, forged.Signed(public), "has not signed it", what)
	}
	require.ErrorContains(t, a.Signed(nil), "no key")
	unsigned := queued()
	require.NoError(t, unsigned.Sign(nil))
	require.Nil(t, unsigned.Signature)
}

// BenchmarkSigning is what it takes to sign an assignment and to verify it.
func BenchmarkSigning(b *testing.B) {
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(b, err)
	a := &Assignment{Run: "20261128-031501-abcd", Task: spec.Task{ID: "shout-001"}, Attempt: 1, Object: Name("assignment", []byte("x"))}
	for b.Loop() {
		if a.Sign(private) != nil || a.Signed(public) != nil {
			b.Fatal("it was not signed")
		}
	}
}
