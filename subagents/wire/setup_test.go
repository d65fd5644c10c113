package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

type object []byte

func (o object) Get(context.Context, string) ([]byte, error) { return o, nil }

func goodSetup() Setup {
	return Setup{
		Run: "r", Base: strings.Repeat("a", 40), Caches: "0123456789abcdef", Roles: map[string]spec.Role{"editor": {Name: "editor"}},
		Parallel: 4, Budget: spec.Tokens(1000), Spent: 10, Quotas: map[string]spec.Wait{"m": {Model: "m"}},
	}
}

// What lies in the object store may be from anyone who reaches it.
func TestAHostileSetupIsRefused(t *testing.T) {
	t.Parallel()
	good := goodSetup()
	name, data, err := good.Seal()
	require.NoError(t, err)
	s, err := UnsealSetup(t.Context(), object(data), "r", name)
	require.NoError(t, err)
	require.Equal(t, &good, s)

	for want, change := range map[string]func(*Setup){
		`it is of run "other"`:                      func(s *Setup) { s.Run = "other" },
		`base "--upload-pack=x" is no commit`:       func(s *Setup) { s.Base = "--upload-pack=x" },
		`caches "../../etc" is no name`:             func(s *Setup) { s.Caches = "../../etc" },
		`caches "" is no name`:                      func(s *Setup) { s.Caches = "" },
		`environment "../x" is no id`:               func(s *Setup) { s.Environment = "../x" },
		`"a.>" is no name of a role`:                func(s *Setup) { s.Roles["a.>"] = spec.Role{} },
		"a limit is negative":                       func(s *Setup) { s.Parallel = -1 },
		"it has 67108902 bytes, more than 67108864": func(*Setup) {},
	} {
		bad := goodSetup()
		change(&bad)
		name, data, err := bad.Seal()
		if strings.HasPrefix(want, "it has") {
			data = append(bytes.Repeat([]byte(" "), maxDecode), []byte(`{"run":"r","base":"","caches":"","pa":1}`)[:38]...)
			name = Name(sealedSetup, data)
		}
		require.NoError(t, err)
		_, err = UnsealSetup(t.Context(), object(data), "r", name)
		require.ErrorIs(t, err, ErrSeal, want)
		require.ErrorContains(t, err, want)
	}
	odd := []byte(`{"run":"r","hook":"rm -rf /"}`)
	_, err = UnsealSetup(t.Context(), object(odd), "r", Name(sealedSetup, odd))
	require.ErrorContains(t, err, `unknown field "hook"`)
	_, err = UnsealSetup(t.Context(), object(odd), "r", name)
	require.ErrorContains(t, err, name)
	require.ErrorContains(t, err, Name(sealedSetup, odd), "both digests are named")
}

func FuzzSetup(f *testing.F) {
	s := goodSetup()
	data, err := json.Marshal(&s)
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"run":"r","roles":{"..":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := UnsealSetup(t.Context(), object(data), "r", Name(sealedSetup, data))
		if err == nil {
			require.NotContains(t, s.Caches+s.Environment, "/")
		}
	})
}

// A worker lacks a model's key only for what the run can ask of it.
func TestWhichRolesARunWants(t *testing.T) {
	t.Parallel()
	s := &Setup{Plan: &spec.Plan{Tasks: []spec.Task{{ID: "a", Role: "mod", Verify: "judge"}}}}
	require.True(t, s.Wants("judge"))
	require.False(t, s.Wants(spec.RoleReviewer))
	s.Plan.Tasks[0].Constraints = []string{"no new module"}
	require.True(t, s.Wants(spec.RoleReviewer), "it judges where nothing else is named")
	require.True(t, s.Wants("mod"))
	require.True(t, s.Wants(spec.RoleTester))
	require.False(t, s.Wants("reader"))
	s.Plan = nil
	require.True(t, s.Wants("reader"), "a master plans")
}
