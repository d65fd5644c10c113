package services

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// kind is a sort of service that can be run without a container.
type kind struct {
	name string
	port int
	// programs are the servers that can be one.
	programs []candidate
	// names are those of its variables. passwords tells what the server does with them.
	names     *lazyregexp.Regexp
	passwords string
	service   func(*server) (spec.Service, error)
}

// candidate is a server, the image with its name, Debian's package and the other programs that it needs.
type candidate struct {
	program, brand, debian string
	others                 func(*server) []string
}

// server is a service that is asked for, with the program for it.
type server struct {
	asked
	program string
	Installed
}

var kinds = []kind{
	{
		"postgres", 5432,
		[]candidate{{"postgres", "postgres", "postgresql", needs("initdb", "pg_isready")}},
		lazyregexp.New(`^(POSTGRES_|DB_|DATABASE_|PG[A-Z]+$)`), "; it takes any password", postgres,
	},
	{
		"mysql", 3306,
		[]candidate{
			{"mysqld", "mysql", "default-mysql-server", mysqlNeeds},
			{"mariadbd", "mariadb", "mariadb-server", mysqlNeeds},
		},
		lazyregexp.New(`^(MYSQL_|MARIADB_|DB_|DATABASE_)`), "; prepare sets the passwords that are literals", mysql,
	},
	{
		"redis", 6379,
		[]candidate{{"redis-server", "redis", "redis-server", needs("redis-cli")}},
		lazyregexp.New(`^REDIS_`), "", redis,
	},
	{"nats", 4222, []candidate{{"nats-server", "nats", "nats-server", needs()}}, lazyregexp.New(`^NATS_`), "", nats},
}

func needs(programs ...string) func(*server) []string {
	return func(*server) []string { return programs }
}

func mysqlNeeds(s *server) []string {
	if s.maria() {
		return []string{"mariadb-install-db", "mariadb-admin"}
	}
	return []string{"mysqladmin"}
}

// maria reports whether the server is MariaDB, which Debian installs as mysqld too.
func (s *server) maria() bool {
	return s.program == "mariadbd" || strings.Contains(s.Version, "MariaDB")
}

// kindOf is the kind of an image's service, nil for none.
func kindOf(a *asked) *kind {
	i := slices.IndexFunc(kinds, func(k kind) bool {
		return slices.ContainsFunc(k.programs, func(c candidate) bool { return c.brand == a.brand() })
	})
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

// Server reports whether a program is that of a kind of service.
func Server(program string) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool {
		return slices.ContainsFunc(k.programs, func(c candidate) bool { return c.program == program })
	})
}

// sh is a shell line that finds the programs of the server.
func (s *server) sh(format string, args ...any) []string {
	line := fmt.Sprintf(format, args...)
	if s.Dir != "" {
		line = "PATH=" + text.Shell(s.Dir) + ":$PATH; " + line
	}
	return []string{"sh", "-c", line}
}

var plain = lazyregexp.New(`^([A-Za-z0-9_.@%+=:,/!#*^][A-Za-z0-9_.@%+=:,/!#*^-]{0,127})?$`)

var errValue = errors.New("a name or password of it has characters that cannot be written to a command")

// values are variables of the server itself, those that are literals, each by its first name that is set.
func (s *server) values(names ...[]string) ([]string, error) {
	out := make([]string, len(names))
	for i, one := range names {
		for _, name := range one {
			if v, ok := literal(s.own[name]); ok && out[i] == "" {
				out[i] = v
			}
		}
		if !plain.MatchString(out[i]) {
			return nil, errValue
		}
	}
	return out, nil
}

func postgres(s *server) (spec.Service, error) {
	v, err := s.values([]string{"POSTGRES_USER"}, []string{"POSTGRES_DB"})
	if err != nil {
		return spec.Service{}, err
	}
	user := cmp.Or(v[0], "postgres")
	prepare := `initdb -D "$HOME/data" -U ` + text.Shell(user) + " -A trust -E UTF8 --no-sync"
	if db := cmp.Or(v[1], user); db != "postgres" {
		prepare += " && echo " + text.Shell(`CREATE DATABASE "`+db+`";`) + ` | postgres --single -D "$HOME/data" postgres`
	}
	return spec.Service{
		Prepare: s.sh("%s", prepare),
		Command: s.sh(`exec postgres -D "$HOME/data" -k "" -h localhost -p %d -F`, s.port.outer),
		Ready:   s.sh("pg_isready -h 127.0.0.1 -p %d", s.port.outer),
	}, nil
}

func mysql(s *server) (spec.Service, error) {
	v, err := s.values([]string{"MYSQL_USER", "MARIADB_USER"}, []string{"MYSQL_PASSWORD", "MARIADB_PASSWORD"},
		[]string{"MYSQL_DATABASE", "MARIADB_DATABASE"}, []string{"MYSQL_ROOT_PASSWORD", "MARIADB_ROOT_PASSWORD"})
	if err != nil {
		return spec.Service{}, err
	}
	sql := []string{
		"CREATE USER IF NOT EXISTS 'root'@'%';", "GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;",
		"ALTER USER 'root'@'%' IDENTIFIED BY '" + v[3] + "';", "ALTER USER 'root'@'localhost' IDENTIFIED BY '" + v[3] + "';",
	}
	if v[2] != "" {
		sql = append(sql, "CREATE DATABASE IF NOT EXISTS `"+v[2]+"`;")
	}
	if v[0] != "" && v[0] != "root" {
		sql = append(sql, "CREATE USER IF NOT EXISTS '"+v[0]+"'@'%' IDENTIFIED BY '"+v[1]+"';",
			"GRANT ALL ON *.* TO '"+v[0]+"'@'%';")
	}
	prepare, admin := `mysqld --no-defaults --initialize-insecure --user="$(id -un)" --datadir="$HOME/data"`, "mysqladmin"
	if s.maria() {
		prepare = `mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db ` +
			`--user="$(id -un)" --datadir="$HOME/data"`
		admin = "mariadb-admin"
	}
	return spec.Service{
		Prepare: s.sh(`%s && printf '%%s\n' %s > "$HOME/init.sql"`, prepare, text.CommandLine(sql)),
		Command: s.sh(`exec %s --no-defaults --user="$(id -un)" --datadir="$HOME/data" --socket="$HOME/socket" `+
			`--pid-file="$HOME/pid" --bind-address=127.0.0.1 --port=%d --loose-mysqlx=OFF --init-file="$HOME/init.sql"`,
			s.program, s.port.outer),
		Ready: s.sh("%s --no-defaults -h 127.0.0.1 -P %d ping", admin, s.port.outer),
	}, nil
}

func redis(s *server) (spec.Service, error) {
	password := ""
	if i := slices.Index(s.flags, "--requirepass"); i >= 0 && i+1 < len(s.flags) {
		v, ok := literal(s.flags[i+1])
		if !ok || !plain.MatchString(v) {
			return spec.Service{}, errValue
		}
		password, s.flags = " --requirepass "+text.Shell(v), slices.Delete(s.flags, i, i+2)
	}
	return spec.Service{
		Command: s.sh(`cd "$HOME" && exec redis-server --bind 127.0.0.1 --port %d --save "" --appendonly no%s`, s.port.outer,
			password),
		Ready: s.sh("redis-cli -h 127.0.0.1 -p %d ping", s.port.outer),
	}, nil
}

func nats(s *server) (spec.Service, error) {
	streams := ""
	if i := slices.IndexFunc(s.flags, func(f string) bool { return strings.Trim(f, "-") == "js" || f == "--jetstream" }); i >= 0 {
		streams, s.flags = ` -js -sd "$HOME"`, slices.Delete(s.flags, i, i+1)
	}
	return spec.Service{
		Command: s.sh(`exec nats-server -a 127.0.0.1 -p %d --ports_file_dir "$HOME"%s`, s.port.outer, streams),
		// It writes the file when it listens.
		Ready: []string{"sh", "-c", `ls "$HOME"/*.ports`},
	}, nil
}
