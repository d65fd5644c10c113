package dashboard

import (
	"sync"
)

// frame is one batch: its lines as JSON objects, with commas between them.
type frame struct {
	pos  uint64
	data []byte
}

// hub keeps the newest frames for all browsers, so that the log is read and encoded once. When its memory is full it
// forgets the oldest; a stream that needs those reads the log.
type hub struct {
	limit int

	mu     sync.Mutex
	frames []frame
	bytes  int
	// forgotten is the position of the newest frame that was dropped, newest that of the newest frame of all.
	forgotten uint64
	newest    uint64
	changed   chan struct{}
}

func newHub(limit int) *hub { return &hub{limit: limit, changed: make(chan struct{})} }

// add appends a frame and wakes the streams that wait. A frame at or before the newest one is ignored.
func (h *hub) add(f frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.pos <= h.newest {
		return
	}
	h.newest = f.pos
	h.frames = append(h.frames, f)
	h.bytes += len(f.data)
	h.forget()
	close(h.changed)
	h.changed = make(chan struct{})
}

// forget drops the oldest frames until the rest fits; the newest one always stays.
func (h *hub) forget() {
	for h.bytes > h.limit && len(h.frames) > 1 {
		h.bytes -= len(h.frames[0].data)
		h.forgotten = h.frames[0].pos
		h.frames[0] = frame{}
		h.frames = h.frames[1:]
	}
}

// pass notes that the log was read up to a position whose frame is not kept.
func (h *hub) pass(pos uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.frames, h.bytes = nil, 0
	h.newest, h.forgotten = pos, pos
}

// bound changes how much is kept.
func (h *hub) bound(limit int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limit = limit
	h.forget()
}

// behind returns the position behind which are the newest frames that are kept, at most as many as named.
func (h *hub) behind(newest int) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.frames); n > newest {
		return h.frames[n-newest-1].pos
	}
	return h.forgotten
}

// last returns the position of the newest frame.
func (h *hub) last() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.newest
}

// after returns up to limit frames behind pos, of maxMessage bytes together unless the first has more, and a channel that closes
// when there are more. It reports false when a frame behind pos is forgotten.
func (h *hub) after(pos uint64, limit int) ([]frame, <-chan struct{}, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if pos < h.forgotten {
		return nil, h.changed, false
	}
	lo, hi := 0, len(h.frames)
	for lo < hi {
		if mid := (lo + hi) / 2; h.frames[mid].pos <= pos {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	var out []frame
	bytes := 0
	for _, f := range h.frames[lo:] {
		if bytes += len(f.data); len(out) == limit || len(out) > 0 && bytes > maxMessage {
			break
		}
		out = append(out, f)
	}
	return out, h.changed, true
}
