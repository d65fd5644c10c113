package gate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestUncached(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"go test ./...":             "go test -count=1 ./...",
		"go -C dir test -json ./..": "go -C dir test -count=1 -json ./..",
		"env A=1 go test ./x":       "env A=1 go test -count=1 ./x",
		"go vet ./...":              "go vet ./...",
		"npm test":                  "npm test",
		"cargo test":                "cargo test",
	} {
		gates := []spec.Gate{{Name: "g", Command: strings.Fields(command)}}
		require.Equal(t, want, strings.Join(Uncached(gates)[0].Command, " "))
		require.Equal(t, command, strings.Join(gates[0].Command, " "), "the given ones stay")
	}
}

func TestFailsToo(t *testing.T) {
	t.Parallel()
	red := spec.Receipt{
		Command: strings.Fields("go -C a build ./..."), Build: true, Verdict: spec.VerdictFail, Hidden: []string{"a/x", "a/y"},
	}
	with := func(change func(*spec.Receipt)) spec.Receipt {
		r := red
		change(&r)
		return r
	}
	vet := "go -C a vet ./..."
	tests := map[string]struct {
		red    spec.Receipt
		before *spec.Receipt
		gate   string
		want   bool
	}{
		"vet":                      {red, nil, vet, true},
		"test":                     {red, &spec.Receipt{Hidden: []string{"a/x"}}, "go -C a test -json ./...", true},
		"another directory":        {red, nil, "go -C b vet ./...", false},
		"directories called test":  {with(func(r *spec.Receipt) { r.Command = strings.Fields("go -C test build .") }), nil, vet, false},
		"no directory":             {red, nil, "go vet ./...", false},
		"a linter":                 {red, nil, "golangci-lint run", false},
		"hidden before":            {red, &red, vet, false},
		"a finding":                {with(func(r *spec.Receipt) { r.Build = false }), nil, vet, false},
		"passed":                   {with(func(r *spec.Receipt) { r.Verdict = spec.VerdictBaseline }), nil, vet, false},
		"tests of other packages":  {with(func(r *spec.Receipt) { r.Command = strings.Fields("go -C a test ./x") }), nil, vet, false},
		"clippy denies a warning":  {with(func(r *spec.Receipt) { r.Command = strings.Fields("cargo clippy") }), nil, "cargo test", false},
		"a script that is missing": {with(func(r *spec.Receipt) { r.Command = []string{"./lint.sh"} }), nil, vet, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, FailsToo(spec.Gate{Command: strings.Fields(tt.gate)}, tt.red, tt.before))
		})
	}
}
