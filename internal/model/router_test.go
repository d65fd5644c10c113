package model_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/testkit/modeltest"
)

// named answers with its name.
type named string

func (n named) Generate(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{Result: &model.Result{Content: genai.NewContentFromText(string(n), genai.RoleModel)}}, nil)
	}
}

func TestRouter(t *testing.T) {
	t.Parallel()
	routes := map[string]model.Model{"qwen": named("local"), "gpt": named("far")}
	for name, want := range map[string]string{"qwen": "local", "gpt": "far", "gemini-3.8-flash": "gemini"} {
		req := modeltest.Ask("t", "x")
		req.Model = name
		res, fault := modeltest.Collect(t.Context(), model.NewRouter(routes, named("gemini")), req)
		require.Nil(t, fault)
		require.Equal(t, want, res.Content.Parts[0].Text)
	}
	_, fault := modeltest.Collect(t.Context(), model.NewRouter(routes, nil), modeltest.Ask("t", "x"))
	require.Equal(t, model.Invalid, fault.Class)
	require.Contains(t, fault.Message, "no service is set up for model "+model.DefaultModel)
	for _, err := range model.NewRouter(routes, nil).Generate(t.Context(), nil) {
		require.ErrorContains(t, err, "no request")
	}
}
