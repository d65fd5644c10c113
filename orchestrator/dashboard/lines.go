package dashboard

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
)

// olderBatches is how many batches an answer with older lines has at most.
const olderBatches = 8000

// lines answers with the lines before a position, oldest first, as rows of JSON arrays: each is what one message of the
// stream has. There is no row where nothing is older.
func (s *Server) lines(w http.ResponseWriter, r *http.Request) {
	before, err := strconv.ParseUint(r.URL.Query().Get("before"), 10, 64)
	if err != nil || before == 0 {
		s.refuse(w, http.StatusBadRequest, "before is a position in the log, from 1")
		return
	}
	one, leave, err := s.whole(r.Context(), r.PathValue("run"))
	if err != nil {
		s.fail(w, err)
		return
	}
	defer leave()
	rows, err := s.older(r.Context(), one, before)
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	s.send(w, rows)
}

// older makes the rows of the lines before a position, from memory where they are there.
func (s *Server) older(ctx context.Context, one *room, before uint64) (rows []byte, err error) {
	pos, last := one.board.back(min(before, one.hub.last()+1), olderBatches)
	for pos < last {
		frames, _, ok := one.hub.after(pos, maxFrames)
		if !ok {
			break
		}
		if i := slices.IndexFunc(frames, func(f frame) bool { return f.pos > last }); i >= 0 {
			frames = frames[:i]
		}
		rows, pos = append(array(rows, frames), '\n'), frames[len(frames)-1].pos
	}
	if pos == last {
		return rows, nil
	}
	var kept []frame
	for f, err := range s.reread(ctx, one.id, pos) {
		if err != nil {
			return nil, err
		}
		if kept = append(kept, f); len(kept) == maxFrames || f.pos >= last {
			rows, kept = append(array(rows, kept), '\n'), nil
		}
		if f.pos >= last {
			return rows, nil
		}
	}
	return nil, errors.Join(ctx.Err(), fmt.Errorf("the log of run %s ended before %d", one.id, last))
}

// reread reads batches behind a position from the log of a run, and makes their lines.
func (s *Server) reread(ctx context.Context, id string, pos uint64) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		opened, err := s.opts.Runs.Open(ctx, id)
		if err != nil {
			yield(frame{}, err)
			return
		}
		for b, err := range opened.Tail(ctx, pos) {
			if err != nil {
				err = fmt.Errorf("read the log of run %s after %d again: %w", id, pos, err)
			} else if b.Pos <= pos {
				continue
			}
			if pos = b.Pos; !yield(encode(b), err) || err != nil {
				break
			}
		}
		if err := opened.Close(); err != nil {
			s.opts.Logger.Debug().Err(err).Str("run", id).Msg("a log that was read again is not closed well")
		}
	}
}
