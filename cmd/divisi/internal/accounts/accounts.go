// Package accounts writes the accounts, users and permissions for the operator of a NATS server or cluster.
package accounts

import (
	"strings"

	"divisi/bus/member"
	"divisi/internal/usage"
)

// The formats of a template.
const (
	Conf = "conf" // a block of the configuration of a NATS server
	NSC  = "nsc"  // a script of commands of nsc
)

// Template describes the accounts to print. A worker, person or viewer is a NAME, or NAME=KEY with its public key.
type Template struct {
	Format                    string
	Spaces                    []string
	HostKey                   string
	Workers, Persons, Viewers []string
}

// Text is the template; an error is a mistake of who asks.
func (t *Template) Text() (string, error) {
	a := &member.Accounts{Spaces: t.Spaces, HostKey: t.HostKey}
	keys := t.HostKey != ""
	for _, named := range []struct {
		role member.Role
		all  []string
	}{{member.Worker, t.Workers}, {member.Person, t.Persons}, {member.Viewer, t.Viewers}} {
		for _, one := range named.all {
			name, key, given := strings.Cut(one, "=")
			if given && key == "" {
				return "", usage.Errorf("--%s %q: the key is missing", named.role, one)
			}
			keys = keys || given
			a.Members = append(a.Members, member.Member{Name: name, Role: named.role, Key: key})
		}
	}
	if err := a.Check(); err != nil {
		return "", err
	}
	switch {
	case t.Format == Conf:
		return confHead + a.Conf(), nil
	case t.Format != NSC:
		return "", usage.Errorf("invalid --format %q: must be %s or %s", t.Format, Conf, NSC)
	case keys:
		return "", usage.Errorf("nsc makes the keys: leave them out of --format %s", NSC)
	}
	return nscScript(a), nil
}

const confHead = `# Accounts for Divisi on a NATS server or cluster: one for each space. They go into the configuration of each of
# its servers, together with accounts that are there already: a configuration has one block of accounts.
#
# Make the key of a user on its own machine, with nk (go install github.com/nats-io/nkeys/nk@latest):
#     (umask 077; nk -gen user > w1.nk) && nk -inkey w1.nk -pubout
# and put the public key that it prints, which begins with U, in the place of KEY_OF_w1_IN_…. The file stays where it
# is. The servers refuse a key that is missing. Then:
#     host      divisi server start --nats nats://HOST --creds host.nk
#     worker    divisi server worker --nats nats://HOST --creds w1.nk --name w1
#     others    nats context save divisi --server nats://HOST --nkey /PATH/p1.nk --inbox-prefix _INBOX_p1
#               divisi run GOAL --on divisi
# A worker, person or viewer of another name has another name in its permissions: print them again with its name.
` + notDenied

// notDenied is a warning for the person who sets up an account.
const notDenied = `#
# WHAT AN ACCOUNT DOES NOT DENY. The built-in server of divisi server start has a gate in front of it that reads each request.
# Here there is none, and a NATS server publishes its answers with all rights, wherever in the account a request wants
# them. So each user below, viewers too, can have an answer published as an event of the conductor; all but viewers can
# have a stream emptied, and can read all objects. The permissions keep programs that are sound from mistakes. They do not hold an
# attacker: give a key of a space only to people and machines that may do everything in that space, and others a space of
# their own, or a built-in server.
#
`
