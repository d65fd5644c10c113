package spec

import (
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// The words of Policy.Only, Policy.Sandbox and Policy.Environments.
const (
	OnlyGenerators   = "generators"
	OnlyGates        = "gates"
	SandboxStrict    = "strict"
	SandboxAvailable = "available"
	EnvironmentsAny  = "any"
)

// Policy is worker.yaml: what the owner of a machine lets runs of others do there. No run overrides it. Its zero value gives
// commands neither network nor variables, and no secrets.
type Policy struct {
	Repositories []string          `json:"repositories,omitempty" jsonschema:"Names of repositories that it works for, as globs; default all."`
	People       map[string]string `json:"people,omitempty" jsonschema:"Those whose runs it works for: names with the public keys of their logins; default all that the server admits."`
	Environments string            `json:"environments,omitempty" enum:"named,any" jsonschema:"Whose environments from a checkout it takes. named (default): those of people. any: of all runs."`
	Roles        []string          `json:"roles,omitempty" jsonschema:"Roles whose tasks it takes; default all."`
	Only         string            `json:"only,omitempty" enum:"generators,gates" jsonschema:"generators: it runs no gates. gates: it runs nothing else. Default both."`
	Secrets      []string          `json:"secrets,omitempty" jsonschema:"Variables of this machine that roles, tool servers and models may have as secrets."`
	Variables    []string          `json:"variables,omitempty" jsonschema:"Variables of this machine that all commands of a run may see."`
	Network      []string          `json:"network,omitempty" jsonschema:"Hosts that commands may reach where a run gives them the network: names, *.example.com, * for all public ones, addresses, ranges such as 10.2.0.0/16, and localhost."`
	Sandbox      string            `json:"sandbox,omitempty" enum:"strict,available" jsonschema:"strict (default): commands run only where all layers confine them. available: with the layers that the machine has."`
	Limits       PolicyLimits      `json:"limits,omitzero" jsonschema:"Bounds of each command, and of all of an attempt."`
}

// PolicyLimits bound each command with all its processes, DiskMiB all commands of an attempt; 0 for what Divisi chooses.
type PolicyLimits struct {
	MemoryMiB int `json:"memory_mib,omitempty" minimum:"1" jsonschema:"Memory, in MiB; default half of the machine's."`
	FileMiB   int `json:"file_mib,omitempty" minimum:"1" jsonschema:"What a file can grow to, in MiB; default 32 GiB."`
	DiskMiB   int `json:"disk_mib,omitempty" minimum:"1" jsonschema:"What the commands of one attempt can write to the disk together, in MiB; default 20480."`
	Processes int `json:"processes,omitempty" minimum:"1" jsonschema:"Processes and threads; default so many that only a runaway has more."`
}

// personKey is the public half of the key of a person: an nkey of a user.
var personKey = lazyregexp.New(`^U[A-Z2-7]{55}$`)

// Validate returns every fault of the file.
func (p *Policy) Validate() []Problem {
	v := &problems{}
	for i, glob := range p.Repositories {
		if _, err := path.Match(glob, ""); err != nil || glob == "" || strings.Contains(glob, "/") {
			v.addf(fmt.Sprintf("repositories[%d]", i), "", "%q is no name of a repository's directory, nor a glob of such", glob)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.People)) {
		if !personKey.MatchString(p.People[name]) {
			v.addf("people."+name, "", "%q is no public key of a person: it begins with U and has 56 letters and digits",
				p.People[name])
		}
	}
	for _, list := range []struct {
		field string
		names []string
	}{{"secrets", p.Secrets}, {"variables", p.Variables}} {
		for i, name := range list.names {
			if !envName.MatchString(name) {
				v.addf(fmt.Sprintf("%s[%d]", list.field, i), "", "%q is not a variable's name", name)
			}
		}
	}
	for i, name := range p.Variables {
		if SecretName(name) {
			v.addf(fmt.Sprintf("variables[%d]", i), "",
				"%s looks like a secret, and commands never see secrets: list it in secrets", name)
		}
	}
	for i, host := range p.Network {
		if problem := hostProblem(host); problem != "" {
			v.addf(fmt.Sprintf("network[%d]", i), "", "%q: %s", host, problem)
		}
	}
	v.oneOf("only", "only", p.Only, OnlyGenerators, OnlyGates)
	v.oneOf("environments", "environments", p.Environments, "named", EnvironmentsAny)
	v.oneOf("sandbox", "sandbox", p.Sandbox, SandboxStrict, SandboxAvailable)
	if p.Limits.MemoryMiB < 0 || p.Limits.Processes < 0 || p.Limits.FileMiB < 0 || p.Limits.DiskMiB < 0 {
		v.addf("limits", "", "a limit is negative")
	}
	if p.Only == OnlyGates && len(p.Roles) > 0 {
		v.addf("only", "", "only: gates and roles exclude each other: gates are the tester's")
	}
	return v.list
}

// hostName is a name of a host, with *. in front of it for all below it.
var hostName = lazyregexp.New(`^(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

func hostProblem(host string) string {
	if strings.Contains(host, "/") {
		if p, err := netip.ParsePrefix(host); err != nil || p != p.Masked() {
			return "it is no range of addresses, such as 10.2.0.0/16"
		}
		return ""
	}
	if _, err := netip.ParseAddr(host); err == nil || host == "*" || hostName.MatchString(host) {
		return ""
	}
	return "it is no name of a host without a port, *.example.com, *, address or range"
}
