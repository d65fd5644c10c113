package accounts

import (
	"fmt"
	"strings"

	"divisi/bus/member"
)

const nscHead = `#!/bin/sh
# Accounts for Divisi on a NATS server or cluster, by the tool nsc in its current operator: one for each space. Each role has
# a signing key, which makes users of that role alone; their permissions follow their names. Names have letters, digits,
# - and _ only. This writes SPACE-NAME.creds for each user. Another worker later:
#     nsc add user -a divisi -n w2 -K worker && nsc generate creds -a divisi -n w2 > divisi-w2.creds
# Then:
#     host      divisi server start --nats nats://HOST --creds divisi-host.creds
#     worker    divisi server worker --nats nats://HOST --creds divisi-w1.creds --name w1
#     others    nats context save divisi --server nats://HOST --creds /PATH/divisi-p1.creds --inbox-prefix _INBOX_p1
#               divisi run GOAL --on divisi
` + notDenied + `set -e
umask 077
`

// nscScript makes accounts with nsc. A user gets the permissions of the role whose key signs it, with its own name in them.
func nscScript(a *member.Accounts) string {
	var b strings.Builder
	b.WriteString(nscHead)
	for _, space := range a.Spaces {
		fmt.Fprintf(&b, "\nnsc add account -n %[1]s\nnsc edit account -n %[1]s --js-disk-storage -1 --js-mem-storage -1 "+
			"--js-streams -1 --js-consumer -1\n", space)
		nscUser(&b, space, member.HostName, "") // before there is a key of a role that could sign it
		for _, role := range []member.Role{member.Worker, member.Person, member.Viewer} {
			p := member.OnCluster(role, "{{name()}}")
			fmt.Fprintf(&b, "nsc edit signing-key -a %s --sk generate --role %s \\\n  --allow-pub '%s' \\\n  --allow-sub '%s'\n",
				space, role, strings.Join(p.Publish.Allow, ","), strings.Join(p.Subscribe.Allow, ","))
		}
		for _, m := range a.Members {
			nscUser(&b, space, m.Name, " -K "+string(m.Role))
		}
		fmt.Fprintf(&b, "nsc push -a %s\n", space)
	}
	return b.String()
}

func nscUser(b *strings.Builder, space, name, signer string) {
	fmt.Fprintf(b, "nsc add user -a %[1]s -n %[2]s%[3]s\nnsc generate creds -a %[1]s -n %[2]s > %[1]s-%[2]s.creds\n",
		space, name, signer)
}
