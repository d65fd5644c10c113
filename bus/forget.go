package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Forget removes all that a run has on the server: its queue with its consumers, its objects, and last its events, so that it is
// found again when this fails half way. It returns how many bytes that were, as the server counts them. The run must have ended.
func (b *Bus) Forget(ctx context.Context, run string) (freed uint64, err error) {
	if !ValidToken(run) {
		return 0, fmt.Errorf("forget a run: %w: run %q (letters, digits, - and _ only)", ErrSubject, run)
	}
	ctx, stop := b.denials.await(ctx, []string{
		"$JS.API.CONSUMER.*." + streamTasks + ".>", "$JS.API.CONSUMER.NAMES." + streamTasks, "$JS.API.STREAM.PURGE.*",
	})
	defer stop()
	if err := b.forgetConsumers(ctx, run); err != nil {
		return 0, fmt.Errorf("remove the queues of run %s: %w", run, b.class(ctx, err))
	}
	noted := b.expectGaps(ctx)
	if noted != nil && !errors.Is(noted, ErrFull) { // a full store has room for the note once the run is gone
		return 0, fmt.Errorf("remove run %s: %w", run, b.class(ctx, noted))
	}
	for _, of := range []struct {
		stream jetstream.Stream
		filter string
	}{
		{b.tasks, TaskFilter(run)},
		{b.objects, objectsOf(prefixObject, run) + ".>"},
		{b.cache, objectsOf(prefixCache, run) + ".>"},
		{b.events, RunFilter(run)},
	} {
		n, err := b.purge(ctx, of.stream, of.filter)
		if freed += n; err != nil {
			return freed, fmt.Errorf("remove %s of run %s: %w", of.filter, run, b.class(ctx, err))
		}
	}
	if noted != nil {
		noted = b.expectGaps(ctx)
	}
	return freed, errors.Join(noted, b.keeper.anew())
}

func (b *Bus) purge(ctx context.Context, s jetstream.Stream, filter string) (uint64, error) {
	before, err := s.Info(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.Purge(ctx, jetstream.WithPurgeSubject(filter)); err != nil {
		return 0, err
	}
	after, err := s.Info(ctx)
	if err != nil {
		return 0, err
	}
	return before.State.Bytes - min(before.State.Bytes, after.State.Bytes), nil
}

func (b *Bus) forgetConsumers(ctx context.Context, run string) error {
	list := b.tasks.ConsumerNames(ctx)
	for name := range list.Name() {
		if !strings.HasSuffix(name, "--"+run) {
			continue
		}
		if err := b.tasks.DeleteConsumer(ctx, name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	return list.Err()
}
