package main

import (
	"bytes"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator"
)

func TestWhoStandsInIsLogged(t *testing.T) {
	t.Parallel()
	own, other := model.Choice{Model: "main", Tier: "flex"}, model.Choice{Model: "other"}
	for _, c := range []struct {
		note model.FallbackNote
		want string
	}{
		{
			model.FallbackNote{From: own, To: other, Err: &model.Error{Class: model.Overloaded, Message: "busy"}},
			`{"level":"warn","task":"t","attempt":2,"turn":3,"model":"main (flex)","error":"model: overloaded: busy",` +
				`"instead":"other","message":"a model cannot answer: the next of its chain does"}`,
		},
		{
			model.FallbackNote{From: own, To: other},
			`{"level":"debug","task":"t","attempt":2,"turn":3,"model":"main (flex)","instead":"other",` +
				`"message":"a model rests: the next of its chain answers"}`,
		},
		{
			model.FallbackNote{From: own, To: own},
			`{"level":"warn","task":"t","attempt":2,"turn":3,"model":"main (flex)","message":"the model answers again"}`,
		},
	} {
		var out bytes.Buffer
		h := &holder{g: &globals{log: zerolog.New(&out)}}
		c.note.Meta = model.Meta{Task: "t", Attempt: 2, Turn: 3}
		h.fellBack(c.note)
		require.JSONEq(t, c.want, out.String())
	}
}

func TestWhatTheRunNamesAsSecretIsOne(t *testing.T) {
	t.Setenv("LOCAL_MODEL", "of a model of the project")
	t.Setenv("WRAPPED", "of a role")
	t.Setenv("ISSUES_AUTH", "of a tool server")
	t.Setenv("SOME_TOKEN", "looks like a secret")
	t.Setenv("SOME_WORD", "is none")
	got := secrets(&orchestrator.RunSpec{
		Project: spec.Project{
			Models:     map[string]spec.Model{"local": {Name: "x", KeyEnv: "LOCAL_MODEL"}},
			MCPServers: map[string]spec.MCPServer{"issues": {URL: "https://a.test", Headers: map[string]string{"A": "ISSUES_AUTH"}}},
		},
		Roles: map[string]spec.Role{"r": {Secrets: []string{"WRAPPED"}, MCPServers: map[string]spec.MCPServer{"issues": {}}}},
	})
	for _, want := range []string{"of a model of the project", "of a role", "of a tool server", "looks like a secret"} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "is none")
}
