package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats-server/v2/server/archive"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// restoreChunk is how many bytes of an archive one message of a restore carries.
	restoreChunk = 256 << 10
	// restorePatience is for the answer to one of them: the server writes what it got meanwhile.
	restorePatience = 30 * time.Second
)

// restore has the server make a stream of messages, which keep their positions, and which continues behind the last position. The
// stream must not be there.
func (b *Bus) restore(ctx context.Context, config jetstream.StreamConfig, state server.StreamState,
	messages iter.Seq2[*jetstream.RawStreamMsg, error],
) error {
	request := struct {
		Config jetstream.StreamConfig `json:"config"`
		State  server.StreamState     `json:"state"`
	}{config, state}
	data, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode the state of stream %s: %w", config.Name, err)
	}
	var to server.JSApiStreamRestoreResponse
	if err := b.hand(ctx, "$JS.API.STREAM.RESTORE."+config.Name, data, &to, &to.ApiResponse); err != nil {
		return fmt.Errorf("restore stream %s: %w", config.Name, err)
	}
	from, into := io.Pipe()
	var packing sync.WaitGroup
	packing.Go(func() { _ = into.CloseWithError(pack(into, state, messages)) })
	defer packing.Wait()
	defer from.Close() // or pack would wait for ever
	chunk := make([]byte, restoreChunk)
	for {
		n, err := io.ReadFull(from, chunk)
		if n == 0 && err != io.EOF {
			return fmt.Errorf("restore stream %s: %w", config.Name, err)
		}
		var done server.JSApiStreamCreateResponse
		if err := b.hand(ctx, to.DeliverSubject, chunk[:n], &done, &done.ApiResponse); err != nil {
			return fmt.Errorf("restore stream %s: %w", config.Name, err)
		}
		if n == 0 {
			return nil
		}
	}
}

// hand sends a request to the server, and reads the answer, if it has a content.
func (b *Bus) hand(ctx context.Context, subject string, data []byte, answer any, of *server.ApiResponse) error {
	ctx, cancel := context.WithTimeout(ctx, restorePatience)
	defer cancel()
	m, err := b.nc.RequestWithContext(ctx, subject, data)
	if err != nil || len(m.Data) == 0 {
		return err
	}
	if err := json.Unmarshal(m.Data, answer); err != nil {
		return err
	}
	if of.Error != nil {
		return of.Error
	}
	return nil
}

// pack writes messages as an archive of the server.
func pack(to io.Writer, state server.StreamState, messages iter.Seq2[*jetstream.RawStreamMsg, error]) error {
	compressed := s2.NewWriter(to)
	a := archive.NewWriter(compressed)
	put := func(h archive.Header, parts ...[]byte) error {
		err := a.WriteHeader(&h)
		for _, part := range parts {
			if err == nil {
				_, err = a.Write(part)
			}
		}
		return err
	}
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	if err := put(archive.Header{Name: "state.json", PayloadSize: int64(len(data))}, data); err != nil {
		return err
	}
	for m, err := range messages {
		if err != nil {
			return err
		}
		var header []byte
		if len(m.Header) > 0 {
			header = headerOf(m.Header)
		}
		err := put(archive.Header{
			Name: m.Subject, HeaderSize: int64(len(header)), PayloadSize: int64(len(m.Data)), Timestamp: m.Time.UnixNano(),
			Sequence: m.Sequence,
		}, header, m.Data)
		if err != nil {
			return err
		}
	}
	if err := put(archive.Header{}); err != nil { // the end
		return err
	}
	return compressed.Close()
}

func headerOf(h nats.Header) []byte {
	b := []byte("NATS/1.0\r\n")
	for k, vs := range h {
		for _, v := range vs {
			b = append(b, k+": "+v+"\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}
