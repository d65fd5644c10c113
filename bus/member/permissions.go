package member

import (
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	api = "$JS.API."
	// JoinSubject is where a token is exchanged for a membership.
	JoinSubject = "join"
)

// Inbox is the prefix of the subjects that a member gets answers on. No other member may listen there.
func Inbox(name string) string { return "_INBOX_" + name }

// permissions are all that a member may publish and subscribe to; nil is everything. What is not listed is denied.
//
// No role has server.Permissions.Response: it lets a client publish to whatever reply subject it was sent, and it can send itself
// one of the log.
func permissions(m Member) *server.Permissions {
	if m.Role == Server {
		return nil
	}
	publish := slices.Concat(describes("TASKS", "OBJ", "CACHE"), gets("OBJ", "obj"), []string{"pres.ask"})
	subscribe := []string{Inbox(m.Name) + ".>", "pres.>"}
	if m.Role != Worker { // what that needs of the log a conductor tells it
		publish = slices.Concat(publish, describes("EV"), follows("EV"))
	}
	switch m.Role {
	case Worker:
		publish = slices.Concat(publish, takes("TASKS"), gets("CACHE", "cache"), []string{
			"ev.*.a." + m.Name + ".>", "obj.>", "cache.>", "ctl.*.active", "ctl.*.conduct." + m.Name,
			"pres.w." + m.Name, "pres.limits." + m.Name,
		})
		subscribe = []string{
			subscribe[0], "pres.r.*", "pres.ask", "pres.recall.*", "pres.limits.*", "pres.freed.*",
			"ctl.*.all", "ctl.worker." + m.Name,
		}
	case Person:
		publish = slices.Concat(publish, gets("CACHE", "cache"), []string{
			"obj.>", "cache.>", "ctl.*.conductor." + m.Name, "host.act." + m.Name, "host.read." + m.Name, "ctl.worker.*",
		})
	case Viewer:
		publish = append(publish, "host.read."+m.Name)
		if !m.Raw { // the log and its objects hold what commands printed: the host shows the rest
			publish = append(describes("EV", "TASKS", "OBJ", "CACHE"), "pres.ask", "host.view."+m.Name)
		}
	default:
		publish, subscribe = nil, nil
	}
	return &server.Permissions{Publish: only(publish), Subscribe: only(subscribe)}
}

// OnCluster are the permissions of a member of an account on a NATS server or cluster that is another's. A cluster reads single
// messages with a request that has the place in its content: who may read one message of a stream there may read all.
func OnCluster(role Role, name string) *server.Permissions {
	p := permissions(Member{Name: name, Role: role})
	for _, subject := range p.Publish.Allow {
		if read, direct := strings.CutPrefix(subject, api+"DIRECT.GET."); direct {
			stream, _, _ := strings.Cut(read, ".")
			p.Publish.Allow = append(p.Publish.Allow, api+"STREAM.MSG.GET."+stream)
		}
	}
	return p
}

// only allows what is listed. A list that is empty denies all: the server takes an empty list of subscriptions for no limit.
func only(allow []string) *server.SubjectPermission {
	if len(allow) == 0 {
		return &server.SubjectPermission{Deny: []string{">"}}
	}
	return &server.SubjectPermission{Allow: allow}
}

// describes allows to ask how streams are set up and what subjects they have.
func describes(streams ...string) (allow []string) {
	for _, s := range streams {
		allow = append(allow, api+"STREAM.INFO."+s)
	}
	return allow
}

// gets allows to read single messages of a stream by their subjects. By their places, which a payload has, one could read all.
func gets(stream, prefix string) []string {
	return []string{api + "DIRECT.GET." + stream + "." + prefix + ".>"}
}

// follows allows to read a stream in order.
func follows(stream string) []string {
	return append(gets(stream, "ev"), api+"CONSUMER.CREATE."+stream+".>", api+"CONSUMER.INFO."+stream+".*",
		api+"CONSUMER.MSG.NEXT."+stream+".*", api+"CONSUMER.DELETE."+stream+".*")
}

// takes allows to open the queues of a stream, to take from them and to answer for what was taken.
func takes(stream string) []string {
	return []string{
		api + "CONSUMER.CREATE." + stream + ".>", api + "CONSUMER.MSG.NEXT." + stream + ".*", "$JS.ACK." + stream + ".>",
	}
}

// joining are the permissions of who connects with a token.
func joining(secret string) *server.Permissions {
	return &server.Permissions{
		Publish: only([]string{JoinSubject}), Subscribe: only([]string{JoinInbox(secret) + ".>"}),
	}
}

// JoinInbox is the prefix of the subjects on which who joins gets an answer. It does not tell the secret.
func JoinInbox(secret string) string { return "_JOIN_" + sum(secret)[:32] }
