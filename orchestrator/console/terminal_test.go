package console

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// terminal is as much of a terminal as the live part needs. An instruction that it does not know fails the test.
type terminal struct {
	t      *testing.T
	mu     sync.Mutex
	width  int
	rows   [][]rune
	x, y   int
	hidden bool
	frames int
	titles []string
	bells  int
}

func newTerminal(t *testing.T, width int) *terminal {
	return &terminal{t: t, width: width, rows: [][]rune{nil}}
}

func (m *terminal) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := string(p); s != ""; {
		s = m.next(s)
	}
	return len(p), nil
}

func (m *terminal) next(s string) string {
	if strings.HasPrefix(s, "\x1b[") {
		end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e }) + 2
		m.control(s[2:end], s[end])
		return s[end+1:]
	}
	if title, ok := strings.CutPrefix(s, "\x1b]2;"); ok {
		title, rest, ended := strings.Cut(title, "\x07")
		require.True(m.t, ended, "a title that does not end")
		require.NotContains(m.t, title, "\x1b")
		m.titles = append(m.titles, title)
		return rest
	}
	r, n := utf8.DecodeRuneInString(s)
	switch r {
	case '\a':
		m.bells++
	case '\r':
		m.x = 0
	case '\n':
		m.x = 0
		m.down()
	default:
		require.GreaterOrEqual(m.t, r, ' ', "a control character in the output")
		m.put(r)
	}
	return s[n:]
}

func (m *terminal) down() {
	m.y++
	if m.y == len(m.rows) {
		m.rows = append(m.rows, nil)
	}
}

func (m *terminal) put(r rune) {
	if m.x == m.width {
		m.x = 0
		m.down()
	}
	row := m.rows[m.y]
	for len(row) <= m.x {
		row = append(row, ' ')
	}
	row[m.x] = r
	m.rows[m.y] = row
	m.x++
}

func (m *terminal) control(args string, final byte) {
	switch {
	case final == 'A':
		n, err := strconv.Atoi(args)
		require.NoError(m.t, err)
		require.GreaterOrEqual(m.t, m.y, n, "the cursor would leave the screen")
		m.y -= n
	case final == 'K' && args == "":
		m.rows[m.y] = m.rows[m.y][:min(m.x, len(m.rows[m.y]))]
	case final == 'J' && args == "":
		m.rows = m.rows[:m.y+1]
		m.rows[m.y] = m.rows[m.y][:min(m.x, len(m.rows[m.y]))]
	case args == "?25":
		m.hidden = final == 'l'
	case args == "?2026":
		if final == 'h' {
			m.frames++
		}
	case final == 't': // the title is kept, or put back
		m.titles = append(m.titles, args)
	case final == 'm':
	default:
		m.t.Fatalf("unknown instruction %q%c", args, final)
	}
}

// resize changes the width; rows that are too long are broken, as terminals do.
func (m *terminal) resize(width int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows [][]rune
	for _, r := range m.rows {
		for len(r) > width {
			rows, r = append(rows, r[:width]), r[width:]
		}
		rows = append(rows, r)
	}
	m.rows, m.width, m.y = rows, width, len(rows)-1
}

// drawn returns how many frames there were, and whether the cursor is seen.
func (m *terminal) drawn() (int, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.frames, !m.hidden
}

// size returns the width; it is asked by the console while it holds no write.
func (m *terminal) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.width
}

func (m *terminal) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := make([]string, len(m.rows))
	for i, r := range m.rows {
		lines[i] = strings.TrimRight(string(r), " ")
	}
	return strings.Join(lines, "\n")
}
