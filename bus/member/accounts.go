package member

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nats-io/nkeys"

	"divisi/internal/usage"
)

// HostName is that of the user of a host, which may do everything in an account; no member has it.
const HostName = "host"

// Accounts are what an operator sets up on a NATS server or cluster: an account for each space, with its host and its members. A
// key logs in to one account.
type Accounts struct {
	Spaces  []string
	HostKey string   // the public key of the host's user; empty where the operator fills it in
	Members []Member // the key of each may be empty too
}

// Check refuses accounts that no server can have.
func (a *Accounts) Check() error {
	names, keys, spaces := map[string]bool{HostName: true}, map[string]bool{}, map[string]bool{}
	key := func(of, key string) error {
		switch {
		case key == "":
			return nil
		case len(a.Spaces) > 1:
			return usage.Errorf("a key logs in to one space: %s has another one in each. Name one space, or no keys", of)
		case !nkeys.IsValidPublicUserKey(key):
			return usage.Errorf("%.80q is no public key of a user, as %s needs: one has 56 letters and digits", key, of)
		case keys[key]:
			return usage.Errorf("%s has the key of another one", of)
		}
		keys[key] = true
		return nil
	}
	for _, space := range a.Spaces {
		if !isToken(space) || spaces[space] {
			return usage.Errorf("%.80q names no space of its own: letters, digits, - and _, each name once", space)
		}
		spaces[space] = true
	}
	if err := key(HostName, a.HostKey); err != nil {
		return err
	}
	for _, m := range a.Members {
		if err := validName(m.Name); err != nil {
			return usage.Errorf("%v", err)
		}
		if names[m.Name] {
			return usage.Errorf("%s is there twice, or the name of the host: give each member a name of its own", m.Name)
		}
		names[m.Name] = true
		if err := key(m.Name, m.Key); err != nil {
			return err
		}
	}
	return nil
}

// Conf is the block of the accounts in the configuration of a NATS server. A word stands for a key that is missing; the server
// refuses it.
func (a *Accounts) Conf() string {
	var b strings.Builder
	b.WriteString("accounts {\n")
	for _, space := range a.Spaces {
		fmt.Fprintf(&b, "  %q: {\n    jetstream: enabled\n    users: [\n", space)
		fmt.Fprintf(&b, "      # the host, which may do everything in the account\n      { nkey: %s }\n",
			cmp.Or(a.HostKey, missing(space, HostName)))
		for _, m := range a.Members {
			p := OnCluster(m.Role, m.Name)
			fmt.Fprintf(&b, "      # %s\n      { nkey: %s, permissions: {\n", m, cmp.Or(m.Key, missing(space, m.Name)))
			confList(&b, "publish", p.Publish.Allow)
			confList(&b, "subscribe", p.Subscribe.Allow)
			b.WriteString("      } }\n")
		}
		b.WriteString("    ]\n  }\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// missing stands for the key of a user.
func missing(space, name string) string { return "KEY_OF_" + name + "_IN_" + space }

func confList(b *strings.Builder, what string, subjects []string) {
	fmt.Fprintf(b, "        %s: { allow: [\n", what)
	for _, s := range subjects {
		fmt.Fprintf(b, "          %q\n", s)
	}
	b.WriteString("        ] }\n")
}
