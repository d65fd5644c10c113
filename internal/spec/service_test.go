package spec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServiceValidate(t *testing.T) {
	t.Parallel()
	good := Service{Name: "db", Command: []string{"postgres"}, Ready: []string{"pg_isready"}, Env: map[string]string{"PGHOST": "127.0.0.1"}}
	for _, c := range []struct {
		name   string
		change func(*Project)
		want   string // empty: nothing is wrong
	}{
		{"as it is", func(*Project) {}, ""},
		{"prepared", func(p *Project) { p.Services[0].Prepare = []string{"initdb"} }, ""},
		{"no name", func(p *Project) { p.Services[0].Name = "" }, `services[0].name: service name ""`},
		{"a path as a name", func(p *Project) { p.Services[0].Name = "../db" }, `services[0].name: service name "../db"`},
		{"no command", func(p *Project) { p.Services[0].Command = nil }, `services[0].command: service "db" has no command`},
		{"no ready", func(p *Project) { p.Services[0].Ready = nil }, `services[0].ready: service "db" has no ready`},
		{"an empty program", func(p *Project) { p.Services[0].Prepare = []string{""} }, "services[0].prepare"},
		{"twice", func(p *Project) { p.Services = append(p.Services, good) }, `services[1].name: service name "db" is taken by services[0]` +
			"\n" + `services[1].env.PGHOST: PGHOST is set by service "db" already`},
		{"a secret", func(p *Project) { p.Services[0].Env = map[string]string{"PGPASSWORD": "x"} }, "services[0].env.PGPASSWORD: PGPASSWORD looks like a secret"},
		{"no variable", func(p *Project) { p.Services[0].Env = map[string]string{"a b": "x"} }, `"a b" is not a variable's name`},
		{"a zero byte", func(p *Project) { p.Services[0].Env = map[string]string{"A": "\x00"} }, "services[0].env.A"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := Project{Services: []Service{good}}
			c.change(&p)
			var got []string
			for _, problem := range p.Validate() {
				if strings.HasPrefix(problem.Path, "services") {
					got = append(got, problem.Path+": "+problem.Message)
				}
			}
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, strings.Join(got, "\n"), c.want)
		})
	}
}
