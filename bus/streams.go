package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"divisi/bus/member"
)

// The streams; every run on a server shares them.
const (
	streamEvents  = "EV"
	streamTasks   = "TASKS"
	streamObjects = "OBJ"
	streamCache   = "CACHE"
	streamLeases  = "LEASE"
)

// clusterReplicas is how many servers of a cluster have each message. What the cache has can be made again; but as long as the
// only server with it is gone, no pack would reach a machine.
const clusterReplicas = 3

// streamConfigs lists what must be there. No stream has a size of its own: the store's ceiling bounds them all, and
// nothing is ever dropped to make room. The age of what the cache has is the operator's to change.
func streamConfigs(replicas int) []jetstream.StreamConfig {
	// Direct reads may come from a replica that lags; with one copy they cannot.
	direct := replicas == 1
	events := jetstream.StreamConfig{
		Name: streamEvents, Subjects: []string{allEvents}, Discard: jetstream.DiscardNew, DenyDelete: true,
		AllowDirect: direct, Replicas: replicas,
	}
	tasks := jetstream.StreamConfig{
		Name: streamTasks, Subjects: []string{prefixTask + ".>"}, Retention: jetstream.WorkQueuePolicy, AllowDirect: direct,
		Replicas: replicas,
	}
	if replicas == 1 {
		// Not on a cluster: a server that was killed, and has to take its last events back, writes the block that it appends to
		// compressed and continues without, so that it can never be read again (nats-server 2.15).
		events.Compression = jetstream.S2Compression
		// The log can rebuild the queue, and a dispatch costs half without waiting for the disk (see the benchmarks).
		tasks.PersistMode = jetstream.AsyncPersistMode
	}
	objects := jetstream.StreamConfig{
		Name: streamObjects, Subjects: []string{prefixObject + ".>"}, Discard: jetstream.DiscardNew, MaxMsgsPerSubject: 1,
		DiscardNewPerSubject: true, // no client can put another object under a name
		AllowDirect:          direct, Replicas: replicas,
	}
	leases, cache := objects, objects
	leases.Name, leases.Subjects, leases.DiscardNewPerSubject = streamLeases, []string{prefixLease + ".>"}, false
	cache.Name, cache.Subjects, cache.MaxAge = streamCache, []string{prefixCache + ".>"}, cacheAge
	return []jetstream.StreamConfig{events, tasks, objects, leases, cache}
}

// ensureStreams makes the streams that are missing. replicas 0 is as many as the server can have: a cluster of three and more has
// three of each. One that has just begun may not see all of its servers yet, which is waited for once.
func (b *Bus) ensureStreams(ctx context.Context, replicas int) error {
	all, begun := streamConfigs(max(replicas, 1)), time.Now()
	if replicas == 0 && b.server == nil && b.nc.ConnectedClusterName() != "" {
		all = streamConfigs(clusterReplicas)
	}
	for i, want := range all {
		var s jetstream.Stream
		_, err := b.attempt(ctx, []string{"$JS.API.STREAM.*." + want.Name}, func(ctx context.Context) (err error) {
			s, err = b.ensureStream(ctx, want)
			if replicas == 0 && want.Replicas > 1 && fewServers(err) {
				if time.Since(begun) < b.joining(err) {
					return fmt.Errorf("%w: %w", errJoining, err)
				}
				b.log.Warn().Str("stream", want.Name).Msg("the cluster has not enough servers for three copies: one is kept")
				s, err = b.ensureStream(ctx, streamConfigs(1)[i])
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("prepare stream %s at %s: %w", want.Name, b.url, b.class(ctx, err))
		}
		b.keepStream(s)
	}
	return nil
}

// joining is how long a cluster may still come to see servers that it lacks for a stream: longer where it knows of them.
func (b *Bus) joining(lack error) time.Duration {
	if strings.Contains(lack.Error(), "offline") || strings.Contains(lack.Error(), "miscellaneous") { // nats-server 2.15
		return b.retryPatience / 2
	}
	return b.retryPatience / 6
}

// ensureStream leaves a stream alone that will do: on a shared server its owner may have tuned it, and the right to
// change it may be missing.
func (b *Bus) ensureStream(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := b.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if want.Name == streamTasks { // an acknowledgement names a position: that of a queue before this one must name no task
			want.FirstSeq = b.events.CachedInfo().State.LastSeq + 1
		}
		s, err = b.js.CreateStream(ctx, want)
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return s, err
		}
		s, err = b.js.Stream(ctx, want.Name) // another process was faster
	}
	if err != nil {
		return nil, err
	}
	have := s.CachedInfo().Config
	if streamDoes(have, want) {
		return s, nil
	}
	have.Subjects, have.Retention, have.Discard = want.Subjects, want.Retention, want.Discard
	have.MaxMsgsPerSubject, have.DenyDelete = want.MaxMsgsPerSubject, want.DenyDelete
	have.DiscardNewPerSubject = want.DiscardNewPerSubject
	return b.js.UpdateStream(ctx, have)
}

func streamDoes(have, want jetstream.StreamConfig) bool {
	return slices.Equal(have.Subjects, want.Subjects) && have.Retention == want.Retention && have.Discard == want.Discard &&
		max(have.MaxMsgsPerSubject, 0) == want.MaxMsgsPerSubject && have.DenyDelete == want.DenyDelete &&
		have.DiscardNewPerSubject == want.DiscardNewPerSubject
}

// openStreams makes the streams that are missing. A member only finds them; on another's server, where its rights are not known,
// it makes them as well.
func (b *Bus) openStreams(ctx context.Context, replicas int) error {
	if b.name == "" {
		return b.ensureStreams(ctx, replicas)
	}
	if err := b.answers(ctx); err != nil {
		return err
	}
	err := b.findStreams(ctx)
	if b.login != nil || err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) || err == nil && b.cache != nil {
		return err
	}
	if err = b.ensureStreams(ctx, replicas); errors.Is(err, ErrDenied) {
		return fmt.Errorf("the streams are not there yet; the host of the server makes them: %w", err)
	}
	return err
}

// answers returns ErrDenied where the server does not permit this member to read answers: its credentials are those of another
// name. Else every call would wait for an answer that never arrives.
func (b *Bus) answers(ctx context.Context) error {
	stop, err := b.listen(ctx, member.Inbox(b.name)+".opened", func(Message, func([]byte) error) {})
	if err != nil {
		return fmt.Errorf("use the server at %s as %s: %w", b.url, b.name, err)
	}
	stop()
	return nil
}

// findStreams opens the streams of a server that is another's. Who only finds them holds no lease; a worker appends to the log,
// and does not read it.
func (b *Bus) findStreams(ctx context.Context) error {
	for _, name := range []string{streamEvents, streamTasks, streamObjects, streamCache} {
		if name == streamEvents && b.login != nil && b.login.Role == member.Worker {
			continue
		}
		var s jetstream.Stream
		_, err := b.attempt(ctx, []string{"$JS.API.STREAM.INFO." + name}, func(ctx context.Context) (err error) {
			s, err = b.js.Stream(ctx, name)
			return err
		})
		if name == streamCache && errors.Is(err, jetstream.ErrStreamNotFound) {
			continue // an earlier program owns the server: the format of its log tells so
		}
		if name == streamEvents && errors.Is(err, ErrDenied) && b.name != "" {
			continue // a worker in an account of a cluster
		}
		if err != nil {
			return fmt.Errorf("find stream %s at %s: %w", name, b.url, b.class(ctx, err))
		}
		b.keepStream(s)
	}
	return nil
}

func (b *Bus) keepStream(s jetstream.Stream) {
	switch s.CachedInfo().Config.Name {
	case streamEvents:
		b.events = s
	case streamTasks:
		b.tasks = s
	case streamObjects:
		b.objects = s
	case streamCache:
		b.cache = s
	case streamLeases:
		b.leases = s
	}
}
