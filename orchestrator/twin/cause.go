package twin

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
)

// Cause is a likely reason why a gate differs; empty for one that is not known.
type Cause string

// The causes that are known.
const (
	Network   Cause = "network"
	History   Cause = "history"
	Home      Cause = "home"
	Cache     Cause = "cache"
	Variable  Cause = "variable"
	Tool      Cause = "tool"
	Service   Cause = "service"
	Port      Cause = "port"
	Locale    Cause = "locale"
	Sanitizer Cause = "sanitizer"
	Memory    Cause = "shared memory"
	Zone      Cause = "time zone"
)

// Difference is one thing in which the sandbox and the user's shell differ, with its likely cause.
type Difference struct {
	Gate, What string
	Cause      Cause
	// Evidence shows the cause: a line of the output, or what was tried. Do is the next step.
	Evidence, Do string
}

// String is the difference in one line.
func (d *Difference) String() string {
	line := d.Gate + ": " + d.What
	if d.Cause != "" {
		line += fmt.Sprintf("; likely cause: %s (%s)", d.Cause, d.Evidence)
	}
	return text.OneLine(line)
}

// Causes returns the differences between two outcomes of a gate, each with its likely cause.
func Causes(confined, own Outcome) (list []Difference) {
	if what := differ(&confined, &own); what != "" {
		list = append(list, likely(&confined, &own, what))
	}
	for _, line := range confined.Programs {
		list = append(list, Difference{confined.Gate, line, Tool, "its version", advice[Tool]})
	}
	if what := wrote(&confined, &own); what != "" {
		list = append(list, Difference{Gate: confined.Gate, What: what, Do: "what it changes depends on its surroundings: " +
			"have the gate check without writing, or have setup make these files"})
	}
	return list
}

// advice is the next step where the sandbox lacks what the user's shell has.
var advice = map[Cause]string{
	Network: "gates have no network: have setup download what they need, or give them the network by a role file " +
		".divisi/roles/tester.md with network: true",
	History: "gates see the history of the base commit and its tags, and no remote or other branch: in a shallow clone, " +
		"git fetch --unshallow --tags; history: full gives agents the old files too",
	Home: "commands have a home of their own: have setup make the file in the tree, or name its place by a " +
		"variable: env: [NAME]",
	Cache: "have setup download it, since setup has the network and gates have not: setup: [COMMAND]",
	Tool: "have setup install the program into $DIVISI_TOOLS/bin, or put the directory of the program that you " +
		"use first in PATH",
	Service: "gates do not reach services of this machine: name it under services, with command and ready; see services in " +
		"docs/project.md",
	Port:   "gates have a loopback of their own: have the test listen on a free port (0) of 127.0.0.1",
	Locale: "commands have the language C.UTF-8: env: [LANG, LC_ALL] passes yours on",
	Sanitizer: "the sandbox does not permit a process to trace others: put env ASAN_OPTIONS=detect_leaks=0 before the gate's " +
		"command, or run that check outside",
	Memory: "shared memory in the sandbox is private to a command, and bounded: have the test use less, or files in $TMPDIR",
	Zone:   "env: [TZ] passes your time zone on, once TZ is set; or put env TZ=UTC before the gate's command",
}

// likely finds the cause: what was tried is better evidence than words.
func likely(confined, own *Outcome, what string) Difference {
	d := Difference{Gate: confined.Gate, What: what}
	inSandbox := worse(confined, own)
	lines := fresh(own, confined)
	if inSandbox {
		lines = fresh(confined, own)
	}
	var detail string
	if len(own.Alike) > 0 {
		d.Cause, detail = causeOf(own.Alike[0]), own.Alike[0]
		d.Evidence = "with the sandbox's " + text.Some(own.Alike, maxNamed) + " it does the same in your shell"
	} else {
		d.Cause, detail, d.Evidence = read(lines, slices.Concat(own.Variables, confined.Variables))
	}
	if d.Cause == "" && len(confined.Programs) > 0 {
		d.Cause, d.Evidence = Tool, confined.Programs[0]
	}
	d.Evidence = text.Clip(d.Evidence, text.MaxLine)
	switch {
	case d.Gate == services:
		d.Do = "a service of the project does not start in your shell: end what has its port there, or install what it names"
	case d.Cause == "":
		d.Do = "compare both outputs: nothing in them names a cause that is known"
	case !inSandbox:
		d.Do = "the gate does better in the sandbox: it depends on something in your shell, and CI may lack that too"
	case d.Cause == Variable:
		d.Do = pass(detail, slices.Contains(own.Variables, detail))
	default:
		d.Do = advice[d.Cause]
	}
	if port := ports[detail]; d.Cause == Service && port != "" {
		d.Do += " (port " + detail + " is usually " + port + ")"
	}
	return d
}

// ports are those of services that tests often use.
var ports = map[string]string{
	"5432": "PostgreSQL", "3306": "MySQL", "6379": "Redis", "4222": "NATS", "27017": "MongoDB", "5672": "RabbitMQ",
	"9092": "Kafka", "9200": "Elasticsearch", "11211": "Memcached", "1433": "SQL Server", "2379": "etcd", "9000": "MinIO",
}

// causeOf is the cause that a variable makes.
func causeOf(variable string) Cause {
	switch {
	case variable == "HOME":
		return Home
	case variable == "TZ":
		return Zone
	case variable == "LANG", variable == "LANGUAGE", strings.HasPrefix(variable, "LC_"):
		return Locale
	}
	return Variable
}

// pass is the next step for a variable.
func pass(name string, known bool) string {
	switch {
	case name == "":
		return "env: [NAME] passes a variable on"
	case spec.SecretName(name):
		return name + " looks like a secret's name, which gates never see: have the test do without it"
	case !known:
		return "put env -u " + name + " before the gate's command: the sandbox sets it, as CI does"
	}
	return "env: [" + name + "] passes it on"
}

// read finds the first sign in lines, and then the user's own variables. detail is a port or a variable.
func read(lines, variables []string) (c Cause, detail, evidence string) {
	for _, s := range signs {
		for _, line := range lines {
			m := s.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			for _, group := range m[1:] {
				if detail == "" {
					detail = group
				}
			}
			if s.cause == Variable && causeOf(detail) != Variable {
				continue
			}
			return s.cause, detail, strings.TrimSpace(line)
		}
	}
	for _, name := range variables {
		if slices.Contains(everywhere, name) {
			continue
		}
		word := regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(name) + `(?:\W|$)`)
		for _, line := range lines {
			if word.MatchString(line) {
				return causeOf(name), name, strings.TrimSpace(line)
			}
		}
	}
	return "", "", ""
}

// everywhere are variables of every shell: their names in an output show nothing.
var everywhere = strings.Fields(`_ PWD OLDPWD SHLVL SHELL USER LOGNAME MAIL EDITOR PAGER TERM HOSTNAME DISPLAY PS1 COLUMNS LINES`)
