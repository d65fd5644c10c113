package services

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"divisi/internal/spec"
)

// machine has programs with their versions; a program of a directory is written DIR/NAME.
type machine map[string]string

func (m machine) find(name string) (found []Installed) {
	for _, program := range slices.Sorted(maps.Keys(m)) {
		dir, base := "", program
		if i := strings.LastIndex(program, "/"); i >= 0 {
			dir, base = program[:i], program[i+1:]
		}
		if base == name {
			found = append(found, Installed{dir, m[program]})
		}
	}
	return found
}

var all = machine{
	"postgres": "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", "initdb": "", "pg_isready": "",
	"redis-server": "Redis server v=7.0.15 sha=0", "redis-cli": "", "nats-server": "nats-server: v2.15.2",
	"mysqld": "mysqld  Ver 8.0.36 for Linux", "mysqladmin": "",
}

func of(m machine, files map[string]string) Proposal {
	return Of(slices.Collect(maps.Keys(files)), func(file string) ([]byte, error) {
		content, ok := files[file]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(content), nil
	}, m.find)
}

const workflowFile = ".github/workflows/ci.yml"

func TestOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		on    machine
		want  []string // NAME: command, variables
		notes []string
	}{
		"nothing":                 {files: map[string]string{"compose.yaml": "", "a.go": "services:"}},
		"no services":             {files: map[string]string{"compose.yaml": "services: [a]", workflowFile: "jobs: {a: 1, b: {services: 2}}"}},
		"what no file can answer": {files: map[string]string{"compose.yaml": "services: {a: {image: 7}, b: {}, c: {image: ''}}"}},
		"a workflow": {
			files: map[string]string{workflowFile: `
env: {CI_NAME: x, DATABASE_URL: 'postgres://other@localhost:5432/other'}
jobs:
  test:
    env: {DATABASE_URL: 'postgres://app:pw@localhost:5433/shop', DB_PASSWORD: pw, PGDATA: /x}
    services:
      postgres: {image: 'postgres:15-alpine', env: {POSTGRES_DB: shop, POSTGRES_PASSWORD: pw}, ports: ['5433:5432/tcp']}
    steps:
    - env: {TEST_DSN: 'postgres://app:${{ secrets.P }}@localhost:5433/shop', OTHER: '${{ secrets.P }}', DB_NAME: '${{ matrix.x }}'}
    - run: make test
`},
			want: []string{
				`postgres: exec postgres -D "$HOME/data" -k "" -h localhost -p 5433 -F`,
				"DATABASE_URL=postgres://app:pw@localhost:5433/shop", "POSTGRES_DB=shop",
			},
			notes: []string{
				"postgres: not taken, as secrets or expressions: DB_NAME, DB_PASSWORD, POSTGRES_PASSWORD, TEST_DSN; it takes any password",
			},
		},
		"a compose file": {
			files: map[string]string{"docker-compose.yml": `
x-env: &env {REDIS_URL: 'redis://cache:6379/0'}
services:
  app:
    build: .
    environment: {<<: *env, DB_HOST: db, DB_PORT: 5432, URL: 'postgresql://u:p@db/app?x=1', PORT: 80, SEEN: 'dbx:5432'}
  cache: {image: 'docker.io/library/redis:${REDIS:-7}', command: [redis-server, --requirepass, pw]}
  db: {image: postgres, command: postgres -c wal_level=logical, environment: ['POSTGRES_USER=${U:-me}', POSTGRES_DB], ports: [{target: 5432, published: '5440'}]}
  mail: {image: 'axllent/mailpit:v1'}
`},
			want: []string{
				`cache: cd "$HOME" && exec redis-server --bind 127.0.0.1 --port 6379 --save "" --appendonly no --requirepass pw`,
				"REDIS_URL=redis://127.0.0.1:6379/0",
				`db: exec postgres -D "$HOME/data" -k "" -h localhost -p 5440 -F`,
				"DB_HOST=127.0.0.1", "DB_PORT=5440", "POSTGRES_USER=me", "URL=postgresql://u:p@127.0.0.1:5440/app?x=1",
			},
			notes: []string{
				"db: its command in docker-compose.yml is left out: -c wal_level=logical",
				"docker-compose.yml: no service is proposed for axllent/mailpit; write one where a gate needs it",
			},
		},
		"a pipeline of GitLab": {
			files: map[string]string{".gitlab-ci.yml": `
variables: {POSTGRES_DB: {value: shop, description: x}, DATABASE_URL: 'postgres://postgres@postgres/shop'}
services: ['postgres:15']
stages: [test]
test: {services: [{name: 'nats:2', alias: queue, command: [-js]}], variables: {NATS_URL: 'nats://queue:4222'}, script: [make]}
`},
			want: []string{
				`postgres: exec postgres -D "$HOME/data" -k "" -h localhost -p 5432 -F`,
				"DATABASE_URL=postgres://postgres@127.0.0.1:5432/shop", "POSTGRES_DB=shop",
				`queue: exec nats-server -a 127.0.0.1 -p 4222 --ports_file_dir "$HOME" -js -sd "$HOME"`,
				"NATS_URL=nats://127.0.0.1:4222",
			},
		},
		"what CI has beats compose files": {
			files: map[string]string{
				workflowFile:                "jobs: {t: {services: {db: {image: 'postgres:15', ports: ['5433:5432']}}}}",
				"compose.yaml":              "services: {main: {image: 'postgres:9'}, q: {image: nats}}",
				"compose.test.yaml":         "services: {tests: {image: nats, ports: ['4333:4222']}}",
				"sub/docker-compose.ci.yml": "services: {z: {image: nats}}",
			},
			want: []string{
				`db: exec postgres -D "$HOME/data" -k "" -h localhost -p 5433 -F`,
				`tests: exec nats-server -a 127.0.0.1 -p 4333 --ports_file_dir "$HOME"`,
			},
		},
		"two with one port": {
			files: map[string]string{"compose.yaml": "services: {a: {image: redis}, b: {image: redis}, c: {image: redis, ports: ['6380:6379']}}"},
			want: []string{
				`a: cd "$HOME" && exec redis-server --bind 127.0.0.1 --port 6379 --save "" --appendonly no`,
				`c: cd "$HOME" && exec redis-server --bind 127.0.0.1 --port 6380 --save "" --appendonly no`,
			},
			notes: []string{"b (compose.yaml) is not proposed: service a has its port 6379"},
		},
		"not installed": {
			files: map[string]string{"compose.yaml": `services: {a: {image: 'postgres:16'}, b: {image: redis}, c: {image: mariadb}, d: {image: nats}}`},
			on:    machine{"postgres": "", "initdb": ""},
			notes: []string{
				"a (compose.yaml) is not proposed: pg_isready is not installed: apt install postgresql",
				"b (compose.yaml) is not proposed: redis-server is not installed: apt install redis-server",
				"c (compose.yaml) is not proposed: mariadbd is not installed: apt install mariadb-server",
				"d (compose.yaml) is not proposed: nats-server is not installed: apt install nats-server",
			},
		},
		"other versions": {
			files: map[string]string{"compose.yaml": "services: {a: {image: 'postgres:16.2-alpine'}, b: {image: 'redis:7.4'}, c: {image: 'mysql:8'}}"},
			on: machine{
				"postgres": "postgres 15.18", "initdb": "", "pg_isready": "", "redis-server": "Redis server v=7.0.15", "redis-cli": "",
				"mysqld": "mysqld  Ver 10.11.19-MariaDB", "mariadb-install-db": "", "mariadb-admin": "",
			},
			want: []string{
				`a: exec postgres -D "$HOME/data" -k "" -h localhost -p 5432 -F`,
				`b: cd "$HOME" && exec redis-server --bind 127.0.0.1 --port 6379 --save "" --appendonly no`,
				`c: exec mysqld --no-defaults --user="$(id -un)" --datadir="$HOME/data" --socket="$HOME/socket" --pid-file="$HOME/pid" ` +
					`--bind-address=127.0.0.1 --port=3306 --loose-mysqlx=OFF --init-file="$HOME/init.sql"`,
			},
			notes: []string{
				"a: compose.yaml asks for postgres 16.2, and postgres 15.18 is installed",
				"c: compose.yaml asks for mysql 8, and mariadb 10.11.19 is installed",
			},
		},
		"the version that is asked for, off PATH": {
			files: map[string]string{"compose.yaml": "services: {a: {image: 'postgres:16'}}"},
			on:    machine{"postgres": "15.1", "/pg 16/postgres": "16.3", "initdb": "", "pg_isready": ""},
			want:  []string{`a: PATH='/pg 16':$PATH; exec postgres -D "$HOME/data" -k "" -h localhost -p 5432 -F`},
		},
		"hostile names and values": {
			files: map[string]string{"compose.yaml": `
services:
  "../x; rm -rf /": {image: nats, environment: {"A B": 1, NATS_A: "a\nb\e[2J", "NATS_\u202e": x, NATS_B: ok}}
  b: {image: 'postgres:$(id)', environment: {POSTGRES_DB: 'a"; DROP DATABASE x'}}
  c: {image: redis, command: "redis-server --requirepass $(id)"}
  !!binary "/w==": {image: mysql, environment: {MYSQL_DATABASE: 'a''b'}}
  web: {build: ., environment: {X_URL: 'nats://../x; rm -rf /:4222'}}
`},
			want: []string{`nats: exec nats-server -a 127.0.0.1 -p 4222 --ports_file_dir "$HOME"`, "NATS_B=ok"},
			notes: []string{
				"nats: not taken, as secrets or expressions: NATS_A",
				"b (compose.yaml) is not proposed: a name or password of it has characters that cannot be written to a command",
				"c (compose.yaml) is not proposed: a name or password of it has characters that cannot be written to a command",
				"\xff (compose.yaml) is not proposed: a name or password of it has characters that cannot be written to a command",
			},
		},
		"broken": {
			files: map[string]string{"compose.yaml": "services: {a: {image: redis}", "docker-compose.yml": "services: {b: {image: redis}}"},
			want:  []string{`b: cd "$HOME" && exec redis-server --bind 127.0.0.1 --port 6379 --save "" --appendonly no`},
			notes: []string{"compose.yaml is not valid YAML: no service of it is proposed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.on == nil {
				c.on = all
			}
			p := of(c.on, c.files)
			var got []string
			for _, s := range p.Services {
				got = append(got, s.Name+": "+s.Command[len(s.Command)-1])
				for _, v := range slices.Sorted(maps.Keys(s.Env)) {
					got = append(got, v+"="+s.Env[v])
				}
			}
			require.Equal(t, c.want, got, p.Notes)
			require.Equal(t, c.notes, p.Notes)
			require.Empty(t, problems(t, &p))
		})
	}
}

// problems are the faults of the proposal as a project file, taken or as comments.
func problems(t *testing.T, p *Proposal) (list []spec.Problem) {
	t.Helper()
	var none map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(p.File(false)), &none))
	require.Empty(t, none)
	project := spec.Project{Services: p.Services}
	for _, one := range project.Validate() {
		if strings.HasPrefix(one.Path, "services") {
			list = append(list, one)
		}
	}
	var file struct{ Services []spec.Service }
	require.NoError(t, yaml.Unmarshal([]byte(p.File(true)), &file))
	require.Len(t, file.Services, len(p.Services))
	for i, s := range file.Services {
		require.Equal(t, p.Services[i].Name, s.Name)
		require.Equal(t, p.Services[i].Command, s.Command)
		require.Len(t, s.Env, len(p.Services[i].Env))
		for name, value := range p.Services[i].Env {
			require.Equal(t, value, s.Env[name])
		}
	}
	return list
}

func TestWhatPrepareMakes(t *testing.T) {
	t.Parallel()
	prepare := func(m machine, service string) string {
		p := of(m, map[string]string{"compose.yaml": "services: {db: " + service + "}"})
		require.Len(t, p.Services, 1)
		return p.Services[0].Prepare[2]
	}
	require.Equal(t, `initdb -D "$HOME/data" -U postgres -A trust -E UTF8 --no-sync`, prepare(all, "{image: postgres}"))
	require.Equal(t, `initdb -D "$HOME/data" -U me -A trust -E UTF8 --no-sync && `+
		`echo 'CREATE DATABASE "me";' | postgres --single -D "$HOME/data" postgres`,
		prepare(all, "{image: postgres, environment: {POSTGRES_USER: me}}"))
	require.Equal(t, `mysqld --no-defaults --initialize-insecure --user="$(id -un)" --datadir="$HOME/data" && printf '%s\n' `+
		`'CREATE USER IF NOT EXISTS '\''root'\''@'\''%'\'';' 'GRANT ALL ON *.* TO '\''root'\''@'\''%'\'' WITH GRANT OPTION;' `+
		`'ALTER USER '\''root'\''@'\''%'\'' IDENTIFIED BY '\''r'\'';' 'ALTER USER '\''root'\''@'\''localhost'\'' IDENTIFIED BY '\''r'\'';' `+
		"'CREATE DATABASE IF NOT EXISTS `d`;' "+
		`'CREATE USER IF NOT EXISTS '\''u'\''@'\''%'\'' IDENTIFIED BY '\''p'\'';' 'GRANT ALL ON *.* TO '\''u'\''@'\''%'\'';' `+
		`> "$HOME/init.sql"`, prepare(all, "{image: mysql, environment: [MYSQL_ROOT_PASSWORD=r, MYSQL_DATABASE=d, MYSQL_USER=u, MYSQL_PASSWORD=p]}"))
	require.Contains(t, prepare(machine{"mariadbd": "", "mariadb-install-db": "", "mariadb-admin": ""}, "{image: mariadb}"),
		`mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db --user="$(id -un)"`)
}

func TestALargeFile(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("services:\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "  s%04d: {image: 'redis', ports: ['%d:6379'], environment: {REDIS_%d: x}}\n", i, 10000+i%10, i)
	}
	p := of(all, map[string]string{"compose.yaml": b.String()})
	require.Len(t, p.Services, 10)
	require.LessOrEqual(t, len(p.Notes), maxNotes)
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	p = of(all, map[string]string{"compose.yaml": bomb + "services: {a: {image: redis, command: *j}}\n"})
	require.Empty(t, p.Services)
}

func FuzzOf(f *testing.F) {
	f.Add("services: {a: {image: 'postgres:9', environment: [A=b], ports: ['1:2']}, b: {build: ., environment: {X: 'a@a:5432'}}}", 0)
	f.Add("x: &x {env: {DATABASE_URL: 'a'}}\njobs: {t: {<<: *x, services: {db: {image: 'mysql:8', command: 7}}}}", 1)
	f.Add("services: [redis, {name: nats, alias: a b}]\nt: {services: *x}", 2)
	f.Add("services: {!!binary '/w==': {image: redis, command: [--requirepass]}}", 0)
	names := []string{"compose.yaml", workflowFile, ".gitlab-ci.yml"}
	f.Fuzz(func(t *testing.T, content string, n int) {
		p := of(all, map[string]string{names[uint(n)%3]: content})
		require.Empty(t, problems(t, &p))
	})
}
