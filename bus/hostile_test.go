package bus

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"divisi/bus/member"
)

// TestAStolenLoginOfAWorker has a program of its own try what a worker of Divisi never would: the server denies it, the gate cuts the
// connection, or the stream refuses it. What of it is allowed the conductor sees through: see docs/safety.md.
func TestAStolenLoginOfAWorker(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.work(t)
	t.Cleanup(s.Guard(time.Now, func(string, string) {}))
	login := s.joins(t, member.Worker, "w1")
	kept := objectSubjectOf(t, "kept")
	for what, subject := range map[string]string{
		"append as the conductor":             "ev.r.m.landed",
		"append as another worker":            "ev.r.a.w2.tester.t.1",
		"queue a task":                        "task.generator.r.t--9",
		"answer a decision":                   "ctl.r.conductor.w1",
		"answer it as a person":               "ctl.r.conductor.ada",
		"have the host act":                   "host.act.w1",
		"have the host act as a person":       "host.act.ada",
		"read a diff through the host":        "host.read.w1",
		"call a conductor as another":         "ctl.r.conduct.w2",
		"be another":                          "pres.w.w2",
		"be a conductor":                      "pres.r.r",
		"tell a limit as another":             "pres.limits.w2",
		"end what another told":               "pres.freed.w2",
		"make a token":                        "creds.ask",
		"join again":                          "join",
		"delete an object":                    "$JS.API.STREAM.MSG.DELETE.OBJ",
		"empty the objects":                   "$JS.API.STREAM.PURGE.OBJ",
		"empty the log":                       "$JS.API.STREAM.PURGE.EV",
		"empty the queue":                     "$JS.API.STREAM.PURGE.TASKS",
		"change a stream":                     "$JS.API.STREAM.UPDATE.EV",
		"follow the objects":                  "$JS.API.CONSUMER.CREATE.OBJ.x.obj.>",
		"read an object by its place":         "$JS.API.DIRECT.GET.OBJ",
		"read an event by its place":          "$JS.API.DIRECT.GET.EV",
		"read an event as a cluster does":     "$JS.API.STREAM.MSG.GET.EV",
		"read the newest event of a run":      "$JS.API.DIRECT.GET.EV.ev.r.m.run",
		"read the newest event of all":        "$JS.API.DIRECT.GET.EV.ev.>",
		"read the session of another":         "$JS.API.DIRECT.GET.EV.ev.r.a.*.generator.t.1",
		"read its own session":                "$JS.API.DIRECT.GET.EV.ev.*.a.w1.>",
		"follow all runs":                     "$JS.API.CONSUMER.CREATE.EV.x",
		"follow a run":                        "$JS.API.CONSUMER.CREATE.EV.x.ev.r.>",
		"follow its own sessions":             "$JS.API.CONSUMER.CREATE.EV.x.ev.*.a.w1.>",
		"follow for good":                     "$JS.API.CONSUMER.DURABLE.CREATE.EV.x",
		"read on behalf of another reader":    "$JS.API.CONSUMER.MSG.NEXT.EV.x",
		"end another reader":                  "$JS.API.CONSUMER.DELETE.EV.x",
		"look for readers":                    "$JS.API.CONSUMER.NAMES.EV",
		"list the subjects of the log":        "$JS.API.STREAM.INFO.EV",
		"take the lease of the host":          "lease.host",
		"read the lease of the host":          "$JS.API.DIRECT.GET.LEASE.lease.host",
		"remove the queue of a role":          "$JS.API.CONSUMER.DELETE.TASKS.generator",
		"halt the queue of a role":            "$JS.API.CONSUMER.PAUSE.TASKS.generator",
		"list the queues":                     "$JS.API.CONSUMER.NAMES.TASKS",
		"list the streams":                    "$JS.API.STREAM.NAMES",
		"have the log copied":                 "$JS.API.STREAM.SNAPSHOT.EV",
		"have another log restored":           "$JS.API.STREAM.RESTORE.EV",
		"have what others ask of a worker":    "ctl.worker.w2",
		"learn of the server from the server": "$SYS.REQ.SERVER.PING",
	} {
		t.Run("denied: "+what, func(t *testing.T) {
			t.Parallel()
			nc, denied := raw(t, login)
			require.NoError(t, nc.Publish(subject, nil))
			requireDenied(t, denied, "Publish", subject)
		})
	}
	for what, subject := range map[string]string{
		"list the inboxes": "_INBOX.>", "hear all inboxes": "_INBOX_*.>", "hear another's inbox": "_INBOX_ada.>", "hear all": ">",
		"hear the objects": "obj.>", "hear who joins": "join", "hear what people ask of runs": "ctl.*.conductor.*",
		"hear what is asked of another worker": "ctl.worker.w2",
		"hear what is appended":                "ev.>", "hear what other workers say of themselves": "pres.w.*", "hear all presences": "pres.>",
	} {
		t.Run("denied: "+what, func(t *testing.T) {
			t.Parallel()
			nc, denied := raw(t, login)
			_, err := nc.SubscribeSync(subject)
			require.NoError(t, err)
			requireDenied(t, denied, "Subscription", subject)
		})
	}
	for what, m := range map[string]*nats.Msg{
		"have an answer become an event": {Subject: "$JS.API.DIRECT.GET.OBJ." + kept, Reply: "ev.r.m.landed"},
		"have an answer empty a stream":  {Subject: "$JS.API.STREAM.INFO.TASKS", Reply: "$JS.API.STREAM.PURGE.EV"},
		"have events pushed as events": {
			Subject: "$JS.API.CONSUMER.CREATE.EV.x", Data: []byte(`{"stream_name":"EV","config":{"deliver_subject":"ev.r.m.landed"}}`),
		},
		"have tasks pushed as events": {
			Subject: "$JS.API.CONSUMER.CREATE.TASKS.x", Data: []byte(`{"stream_name":"TASKS","config":{"deliver_subject":"ev.r.m.landed"}}`),
		},
		"follow the log in the name of the queue": {
			Subject: "$JS.API.CONSUMER.CREATE.TASKS.x.ev.r.m.run",
			Data:    []byte(`{"stream_name":"EV","config":{"name":"x","filter_subject":"ev.r.m.run"}}`),
		},
		"have a queue keep tasks for long": {
			Subject: "$JS.API.CONSUMER.CREATE.TASKS.generator.task.generator.>", Data: queueTerms(t, time.Hour, "task.generator.>"),
		},
		"have one queue for all runs": {
			Subject: "$JS.API.CONSUMER.CREATE.TASKS.generator.task.generator.>", Data: queueTerms(t, time.Second, "task.generator.>"),
		},
		"have a queue forget its tasks": {
			Subject: "$JS.API.CONSUMER.CREATE.TASKS.generator.task.generator.r.none",
			Data:    queueTerms(t, time.Minute, "task.generator.r.none"),
		},
		"answer for a task what no server knows": {Subject: "$JS.ACK.TASKS.generator.1.1.1.1.0", Data: []byte("later")},
		"answer for a place that no task has": {
			Subject: "$JS.ACK.TASKS.generator.1.18446744073709551617.1.1.0", Data: ackDone,
		},
		"have the next task sent without asking for it": {Subject: "$JS.ACK.TASKS.generator.1.1.1.1.0", Data: []byte("+NXT")},
		"keep a task from others for a year": {
			Subject: "$JS.ACK.TASKS.generator.1.1.1.1.0", Data: []byte(`-NAK {"delay": 31536000000000000}`),
		},
		"keep it so by another word":   {Subject: "$JS.ACK.TASKS.generator.1.1.1.1.0", Data: []byte("-NAK 8760h")},
		"append to no attempt":         {Subject: "ev.r.a.w1.generator.t.0"},
		"append to many attempts":      {Subject: "ev.r.a.w1.*.t.1"},
		"append below an attempt":      {Subject: "ev.r.a.w1.generator.t.1.x"},
		"append to an attempt by name": {Subject: "ev.r.a.w1.generator.t.one"},
		"say of itself what no worker says": {
			Subject: "pres.w.w1", Data: make([]byte, maxPresence+1),
		},
		"report an attempt at length": {Subject: "ctl.r.active", Data: make([]byte, maxSaid+1)},
		"tell a limit at length":      {Subject: "pres.limits.w1", Data: make([]byte, maxSaid+1)},
		"list the objects":            {Subject: "$JS.API.STREAM.INFO.OBJ", Data: []byte(`{"subjects_filter":">"}`)},
		"look for objects":            {Subject: "$JS.API.DIRECT.GET.OBJ.obj.>"},
	} {
		t.Run("cut: "+what, func(t *testing.T) {
			t.Parallel()
			nc, _ := raw(t, login)
			cut := make(chan struct{}, 8)
			nc.SetDisconnectErrHandler(func(*nats.Conn, error) { cut <- struct{}{} })
			_ = nc.PublishMsg(m) // the gate may cut it while a long message is written
			select {
			case <-cut:
			case <-soon(t).Done():
				require.Fail(t, "the connection was not cut")
			}
		})
	}
	t.Run("refused: put another object under a name", func(t *testing.T) {
		t.Parallel()
		nc, _ := raw(t, login)
		answer, err := nc.Request(kept, []byte("forged"), 10*time.Second)
		require.NoError(t, err)
		var ack struct {
			Error *struct {
				Description string `json:"description"`
			} `json:"error"`
		}
		require.NoError(t, json.Unmarshal(answer.Data, &ack))
		require.NotNil(t, ack.Error)
		require.Contains(t, ack.Error.Description, "maximum messages per subject exceeded")
		data, err := s.Get(soon(t), "kept")
		require.NoError(t, err)
		require.Equal(t, "object", string(data))
	})
	for _, subject := range []string{"ev.r.m.landed", "ev.*.a.w2.>"} {
		m, err := s.Last(soon(t), subject)
		require.NoError(t, err)
		require.Nil(t, m)
	}
}

// queueTerms is a request to change the terms of the queue of generators.
func queueTerms(t *testing.T, ackWait time.Duration, filter string) []byte {
	t.Helper()
	c := QueueOptions{AckWait: ackWait}.terms("generator")
	c.FilterSubject = filter
	data, err := json.Marshal(map[string]any{"stream_name": streamTasks, "config": c})
	require.NoError(t, err)
	return data
}

func objectSubjectOf(t *testing.T, name string) string {
	t.Helper()
	subject, err := objectSubject(objectsOf(prefixObject, ""), name)
	require.NoError(t, err)
	return subject
}
