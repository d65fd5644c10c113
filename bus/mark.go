package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// markName is the file beside a store with the newest position of the log that its owner was told of. A log that ends before it
// was cut off.
const markName = "newest"

// mark writes that file. It survives the process; a machine that crashes may lose the end of it, which tells less, not more.
type mark struct {
	mu   sync.Mutex
	file *os.File
	pos  uint64
	// lost are the messages that were cut off before; "" for none.
	lost string
}

// openMark begins a mark where a log ends now.
func openMark(dir string, pos uint64) (*mark, error) {
	f, err := os.OpenFile(filepath.Join(dir, markName), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: mark the end of the log: %w", ErrUnavailable, err)
	}
	return &mark{file: f, pos: pos}, nil
}

// to moves the mark, unless it is there already.
func (m *mark) to(pos uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pos <= m.pos {
		return nil
	}
	m.pos = pos
	_, err := m.file.WriteAt(fmt.Appendf(nil, "%020d\n", pos), 0)
	return err
}

func (m *mark) close() error {
	if m == nil {
		return nil
	}
	return m.file.Close()
}

// cutOff returns how many messages are lost behind the end of a log, if a mark tells so. A mark that is damaged tells nothing.
func cutOff(dir string, end uint64) (g gap, cut bool, err error) {
	data, err := os.ReadFile(filepath.Join(dir, markName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return g, false, fmt.Errorf("%w: read where the log ended: %w", ErrUnavailable, err)
	}
	to, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || to <= end || to-end > maxStep {
		return g, false, nil //nolint:nilerr // it is no mark
	}
	return gap{end + 1, to, "the end of the log was cut off"}, true, nil
}

// beginMark finds out whether the log is cut off, by the mark of its owner before, and begins a mark at its end.
func (b *Bus) beginMark(end uint64) error {
	lost, cut, err := cutOff(b.dir, end)
	if cut { // or another process had the directory until it was locked
		if end, err = undamaged(b.dir); err == nil {
			lost, cut, err = cutOff(b.dir, end)
		}
	}
	if err != nil {
		return err
	}
	if cut {
		// By its own notes the server would go on behind the lost messages, and leave a hole.
		if err := os.RemoveAll(filepath.Join(b.dir, streamDir(streamEvents), "msgs", "index.db")); err != nil {
			return fmt.Errorf("%w: have the log read again: %w", ErrUnavailable, err)
		}
	}
	if b.mark, err = openMark(b.dir, end); cut && err == nil {
		b.mark.lost = lost.String()
	}
	return err
}

// CutOff returns a text about the messages that are lost at the end of the log; "" for none.
func (b *Bus) CutOff() string {
	if b.mark == nil {
		return ""
	}
	return b.mark.lost
}

// marked moves the mark of the owner of a store to a message of the log. A mark that stays behind tells less after a damage.
func (b *Bus) marked(stream string, pos uint64) {
	if b.mark == nil || stream != streamEvents {
		return
	}
	if err := b.mark.to(pos); err != nil {
		b.log.Debug().Err(err).Msg("the end of the log was not marked")
	}
}
